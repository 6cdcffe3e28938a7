"""Checks ONNX models with ONNX's own checker.

usage: onnx_checker.py FOLDER

FOLDER has models (*.onnx) and models of which only the nodes are checked, by the schemas of their
operators (*.nodes). Prints one line for each that is wrong. Ends with code 77 without python3-onnx.
"""
import os
import sys

try:
    import onnx
    from onnx import checker
except ImportError:
    sys.exit(77)


def check_nodes(graph, context):
    for node in graph.node:
        try:
            checker.check_node(node, context)
        except checker.ValidationError as e:
            yield f'{node.op_type}: {str(e).splitlines()[0]}'


def main():
    for folder, _, names in os.walk(sys.argv[1]):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith('.onnx'):
                try:
                    checker.check_model(path)
                except checker.ValidationError as e:
                    print(f'{name}: {" ".join(str(e).split())}')
            elif name.endswith('.nodes'):
                with open(path, 'rb') as f:
                    model = onnx.load(f)
                context = checker.C.CheckerContext()
                context.ir_version = model.ir_version
                context.opset_imports = {o.domain: o.version for o in model.opset_import}
                for wrong in check_nodes(model.graph, context):
                    print(f'{name}: {wrong}')


if __name__ == '__main__':
    main()
