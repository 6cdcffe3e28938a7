#pragma once

// The examples of PopART's user guide and API reference, in C++.

void importing();  ///< "Importing graphs"
void executing();  ///< "Executing graphs"
void operators();  ///< the operators of ai.graphcore that the reference has an example of
