"""One training step by PyTorch: train_torch.py NETWORK {sgd|adam} THREADS {eager|compiled} prints the seconds of the best
step, the megabytes beyond the libraries and PyTorch's version. The networks are those of networks.hpp; `compiled` are those
that torch.compile makes of them. Optimizers are fused where this PyTorch has that.

PyTorch gets its best configuration: Debian's OpenBLAS takes slow kernels on many processors unless it is told which, and
OpenMP's and OpenBLAS's threads spin against each other unless they wait passively.
"""
import os
import sys

name, optimizer, threads, is_compiled = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "compiled"
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(threads)
if "avx512f" in open("/proc/cpuinfo").read():
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")
if threads > 1:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import resource
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(threads)


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Block(nn.Module):  # of ResNet-18
    def __init__(self, channels, width):
        super().__init__()
        stride = width // channels
        self.c1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.c2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.n1, self.n2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.side = None
        if stride != 1:
            self.side = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.n2(self.c2(F.relu(self.n1(self.c1(x)))))
        return F.relu(y + (x if self.side is None else self.side(x)))


class Inverted(nn.Module):  # of MobileNet V2
    def __init__(self, channels, filters, stride, expand):
        super().__init__()
        wide = channels * expand
        self.adds = stride == 1 and channels == filters
        self.parts = nn.Sequential(
            *([] if expand == 1 else [nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()]),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, filters, 1, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        return x + self.parts(x) if self.adds else self.parts(x)


class Layer(nn.Module):  # of an encoder
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads, self.drop = heads, drop
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.f1, self.f2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        def split(t):
            return t.view(t.shape[0], t.shape[1], self.heads, -1).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop)
        x = self.n1(x + F.dropout(self.o(y.transpose(1, 2).reshape(x.shape)), self.drop))
        return self.n2(x + F.dropout(self.f2(F.gelu(self.f1(x))), self.drop))


class Encoder(nn.Module):
    def __init__(self, width, drop=0.0):
        super().__init__()
        self.layers = nn.Sequential(*(Layer(width, width // 64, drop) for _ in range(2)))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.layers(x)[:, 0])


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(64, 256, 2, bias=False), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][-1])


def resnet18():
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Block(a, b) for a, b in zip(widths, widths[1:])]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mobilenet():
    blocks, channels = [], 32
    for expand, filters, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            blocks.append(Inverted(channels, filters, stride if i == 0 else 1, expand))
            channels = filters
    return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(), *blocks,
                         nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


networks = {
    "mlp": lambda: (nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)),
                    torch.randn(64, 784), 64, 10),
    "lenet": lambda: (nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(64 * 49, 1024), nn.ReLU(), nn.Linear(1024, 10)),
                      torch.randn(64, 1, 28, 28), 64, 10),
    "resnet18": lambda: (resnet18(), torch.randn(8, 3, 64, 64), 8, 10),
    "mobilenet": lambda: (mobilenet(), torch.randn(8, 3, 112, 112), 8, 1000),
    "encoder": lambda: (Encoder(768), torch.randn(4, 128, 768), 4, 2),
    "long_encoder": lambda: (Encoder(256), torch.randn(1, 2048, 256), 1, 2),
    "dropout_encoder": lambda: (Encoder(768, 0.1), torch.randn(2, 512, 768), 2, 2),
    "lstm": lambda: (Lstm(), torch.randn(64, 16, 64), 16, 10),
}
before = megabytes()
net, x, batch, classes = networks[name]()
want = torch.arange(batch) % classes


def make_update(**how):
    if optimizer == "sgd":
        return torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, **how)
    return torch.optim.Adam(net.parameters(), lr=1e-4, **how)


try:
    update = make_update(fused=True)
except (TypeError, RuntimeError):  # before PyTorch 2.4
    update = make_update()
if is_compiled:
    net = torch.compile(net)
    F.cross_entropy(net(x), want).backward()
least, start, steps = 1e9, time.perf_counter(), 0
while steps < 20 or (time.perf_counter() - start < 2 and steps < 1000):
    begin = time.perf_counter()
    update.zero_grad(set_to_none=True)
    F.cross_entropy(net(x), want).backward()
    update.step()
    least = min(least, time.perf_counter() - begin)
    steps += 1
print(least, megabytes() - before, torch.__version__)
