"""The models that export.py makes: `all_models` has a function for each, which writes a file and returns inputs."""
import os

import numpy as np

all_models = {}


def model(name, tolerance=1e-4, needs="torch"):
    """Registers a function of a path. `needs` names the Python packages it imports."""
    def register(function):
        assert name not in all_models, name
        all_models[name] = (function, tolerance, needs.split())
        return function
    return register


def rng(seed=0):
    return np.random.default_rng(seed)


def floats(*shape, seed=0):
    return rng(seed).standard_normal(shape).astype(np.float32)


def ints(*shape, high=97, seed=0):
    return rng(seed).integers(0, high, shape).astype(np.int64)


def export(module, arguments, path, opset, dynamo, names, outputs=None, dynamic=None):
    """torch.onnx.export. `dynamic` maps an input's name to {axis: symbol}."""
    import torch
    module = module.eval()
    if dynamo:
        shapes = None
        if dynamic:
            dims = {s: torch.export.Dim.DYNAMIC for d in dynamic.values() for s in d.values()}
            shapes = tuple({a: dims[s] for a, s in dynamic.get(n, {}).items()} for n in names)
        torch.onnx.export(module, arguments, path, input_names=names, output_names=outputs, opset_version=opset,
                          dynamo=True, dynamic_shapes=shapes, verbose=False)
    else:
        with torch.no_grad():
            torch.onnx.export(module, arguments, path, input_names=names, output_names=outputs, opset_version=opset,
                              dynamo=False, dynamic_axes=dynamic or None)


def seeded():
    import torch
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # the script exporter does not know what it calls
    return torch


# --- torch -----------------------------------------------------------------------------------------------------------


def mlp(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 16), nn.SiLU(), nn.Dropout(0.1),
                         nn.Linear(16, 5), nn.Softmax(-1))


def cnn(torch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True),
                         nn.Conv2d(8, 16, 3, stride=2, groups=2), nn.Hardswish(), nn.AvgPool2d(2, count_include_pad=False),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))


def recurrent(torch, kind):
    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(50, 12)
            self.cells = getattr(torch.nn, kind)(12, 10, num_layers=2, bidirectional=True, batch_first=True)
            self.head = torch.nn.Linear(20, 7)

        def forward(self, words):
            hidden, _ = self.cells(self.embedding(words))
            return self.head(hidden)
    return Tagger()


def encoder(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def unet(torch):
    nn = torch.nn

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(3, 8, 3, 2, 1)
            self.norm = nn.GroupNorm(2, 8)
            self.middle = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
            self.up = nn.ConvTranspose2d(8, 8, 4, 2, 1)
            self.last = nn.Conv2d(11, 2, 1)
            self.instance = nn.InstanceNorm2d(8, affine=True)
            self.slope = nn.PReLU(8)

        def forward(self, x):
            d = self.slope(self.norm(self.down(x)))
            m = nn.functional.pad(self.instance(self.middle(d)), (1, 1, 0, 2), mode="reflect")
            m = nn.functional.interpolate(m, size=d.shape[2:], mode="bilinear", align_corners=True)
            u = self.up(m + nn.functional.interpolate(d, scale_factor=0.5, mode="nearest").repeat(1, 1, 2, 2))
            return torch.sigmoid(self.last(torch.cat([u, x], 1))), torch.nn.functional.pixel_unshuffle(u, 2)
    return Unet()


def functions(torch):
    F = torch.nn.functional

    class Functions(torch.nn.Module):
        def forward(self, x):
            a = F.gelu(x, approximate="tanh") + F.mish(x) + F.elu(x, 0.3) + F.celu(x, 0.7) + F.selu(x) + F.hardsigmoid(x)
            b = F.softplus(x) + F.softsign(x) + F.leaky_relu(x, 0.1) + F.hardtanh(x) + F.relu6(x) + F.logsigmoid(x)
            c = x.abs().sqrt() + x.exp().log1p() + torch.erf(x) + torch.rsqrt(x * x + 1) + torch.sign(x) + x.pow(3)
            d = F.normalize(x, dim=-1) + F.log_softmax(x, 1) + torch.cumsum(x, 1) + F.glu(torch.cat([x, x], -1))
            e = x.mean((1, 2), keepdim=True) + x.std(-1, keepdim=True) + x.amax(1, keepdim=True) + x.logsumexp(-1, True)
            f = torch.clamp(x, -0.5, 0.5) + torch.atan2(x, x + 3) + torch.remainder(x, 0.7) + torch.fmod(x, 0.3)
            g = torch.round(x * 3) + torch.floor(x) + torch.ceil(x) + torch.tan(x * 0.1) + torch.atan(x)
            return a + b, c + d, e + f + g, torch.einsum("bij,bkj->bik", x, x), x.argmax(-1), (x > 0).sum(1), x.prod(-1)
    return Functions()


def indexing(torch):
    class Indexing(torch.nn.Module):
        def forward(self, x, i):
            values, places = torch.topk(x, 3, dim=-1)
            ordered, order = torch.sort(x, dim=1, descending=True)
            taken = torch.gather(x, 2, i)
            placed = torch.zeros_like(x).scatter(2, i, taken)
            added = x.scatter_add(2, i, taken)
            y = x.clone()
            y[:, 1:3, ::2] = 5.0
            masked = x.masked_fill(x > 0.5, -1.0)
            triangle = torch.triu(x, 1) + torch.tril(x, -1)
            picked = x[:, [0, 2, 3]][:, :, i[0, 0]]
            flipped = torch.flip(x, (1,)) + torch.roll(x, 1, 2)
            windows = x.unfold(2, 3, 2)
            one_hot = torch.nn.functional.one_hot(i, 6).float()
            parts = torch.split(x, 2, dim=1) + torch.chunk(x, 2, dim=2)
            return (values, places, ordered, order, placed + added + y, masked + triangle, picked, flipped, windows,
                    one_hot, parts[0] * 2, parts[-1] * 3, torch.arange(x.shape[1]) + 1, x.transpose(1, 2).reshape(-1, 2),
                    torch.stack([x, -x], 1), torch.where(x > 0, x, 0.1 * x), x.expand(2, -1, -1, -1).sum((0, 1)))
    return Indexing()


def attention(torch):
    F = torch.nn.functional

    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = torch.nn.Linear(16, 48)
            self.scale = torch.nn.Parameter(torch.linspace(0.5, 1.5, 16))

        def norm(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

        def forward(self, x, mask):
            b, n, _ = x.shape
            q, k, v = self.project(self.norm(x)).view(b, n, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            c = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return (a + c).transpose(1, 2).reshape(b, n, 16)
    return Heads()


def convolutions(torch):
    nn = torch.nn

    class Convolutions(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Conv1d(3, 6, 5, padding=2, padding_mode="circular")
            self.three = nn.Conv3d(1, 2, 3, padding=1)
            self.back = nn.ConvTranspose1d(6, 3, 3, stride=2, output_padding=1)

        def forward(self, x):
            y = self.one(x)
            z = self.three(y.unsqueeze(1).unsqueeze(-1).expand(-1, -1, -1, -1, 4))
            return self.back(y), nn.functional.max_pool3d(z, 2), nn.functional.avg_pool1d(y, 3, 2), \
                nn.functional.adaptive_avg_pool2d(y.unsqueeze(1), (3, 5)), nn.functional.lp_pool1d(y.abs() + 1, 2, 2)
    return Convolutions()


def sampling(torch):
    F = torch.nn.functional

    class Sampling(torch.nn.Module):
        def forward(self, x, theta):
            grid = F.affine_grid(theta, (x.shape[0], 3, 9, 7), align_corners=False)
            a = F.grid_sample(x, grid, align_corners=False, padding_mode="border")
            b = F.grid_sample(x, grid, mode="nearest", align_corners=True)
            c = F.interpolate(x, scale_factor=1.7, mode="bicubic", align_corners=False)
            d = F.interpolate(x, (4, 3), mode="area") + F.interpolate(x, (4, 3), mode="bilinear", antialias=False)
            return a + b, c, d, F.pixel_shuffle(torch.cat([x] * 4, 1), 2), F.unfold(x, 3)
    return Sampling()


def branches(torch, scripted):
    class Counted(torch.nn.Module):
        def forward(self, x, n: int):
            y = x
            for i in range(n):
                if bool(y.sum() > 0):
                    y = y * 0.5 - i
                else:
                    y = y.abs() + 1
            return y

    class Chosen(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y.abs() + 1, (x,))
    return torch.jit.script(Counted()) if scripted else Chosen()


def torch_models():
    batch = {"x": {0: "batch"}}
    x12 = [{"x": floats(n, 12)} for n in (2, 7)]
    images = [{"x": floats(n, 3, 16, 20)} for n in (2, 3)]
    words = [{"words": ints(b, n, high=50)} for b, n in ((2, 6), (3, 9))]
    spread = {"words": {0: "batch", 1: "length"}}
    sequences = [{"x": floats(b, n, 16)} for b, n in ((2, 6), (3, 5))]
    volume = {"x": floats(2, 4, 6), "i": ints(2, 4, 6, high=6)}

    def add(label, make, inputs, exporters, dynamic=None):
        for exporter, opset in exporters:
            dynamo = exporter == "dynamo"

            @model(f"torch/{label}-{exporter}-{opset}")
            def write(path, make=make, dynamo=dynamo, opset=opset):
                torch = seeded()
                arguments = tuple(torch.from_numpy(v) for v in inputs[0].values())
                export(make(torch), arguments, path, opset, dynamo, list(inputs[0]), dynamic=dynamic)
                return inputs if dynamic else inputs[:1]

    add("mlp", mlp, x12, [("script", 18), ("dynamo", 18), ("dynamo", 23)], batch)
    add("cnn", cnn, images, [("script", 18), ("dynamo", 20)], batch)
    add("lstm", lambda t: recurrent(t, "LSTM"), words, [("script", 18), ("dynamo", 21)], spread)
    add("gru", lambda t: recurrent(t, "GRU"), words, [("script", 19), ("dynamo", 22)])
    add("encoder", encoder, sequences[:1], [("script", 18)])
    add("encoder", encoder, sequences, [("dynamo", 23)], {"x": {0: "batch", 1: "length"}})
    add("unet", unet, images[:1], [("script", 20), ("dynamo", 19)])
    add("functions", functions, [{"x": floats(2, 5, 6)}], [("script", 20), ("dynamo", 23)])
    add("indexing", indexing, [volume], [("script", 18), ("dynamo", 22)])
    add("attention", attention, [{"x": floats(2, 6, 16), "mask": floats(6, 6)}], [("script", 19), ("dynamo", 23)])
    add("convolutions", convolutions, [{"x": floats(2, 3, 12)}], [("dynamo", 18)])
    add("sampling", sampling, [{"x": floats(2, 3, 8, 6), "theta": floats(2, 2, 3)}], [("script", 20), ("dynamo", 20)])

    @model("torch/loop-script-18")
    def loop(path):
        torch = seeded()
        export(branches(torch, True), (torch.ones(3), torch.tensor(4)), path, 18, False, ["x", "n"])
        return [{"x": floats(3), "n": np.array(n)} for n in (4, 0, 7)]

    @model("torch/cond-dynamo-20")
    def cond(path):
        torch = seeded()
        export(branches(torch, False), (torch.ones(3),), path, 20, True, ["x"])
        return [{"x": floats(3)}, {"x": -floats(3)}]


# --- transformers ----------------------------------------------------------------------------------------------------


class Plain:
    """A module of a transformer whose output is one tensor, and whose inputs are named by `names`."""

    def __new__(cls, inner, names, pick, **fixed):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, *arguments):
                return pick(self.inner(**dict(zip(names, arguments)), **fixed))
        return Wrapped()


def transformer(label, make, inputs, exporters, dynamic=None, pick=None, **fixed):
    for exporter, opset in exporters:
        @model(f"transformers/{label}-{exporter}-{opset}", tolerance=5e-4, needs="torch transformers")
        def write(path, exporter=exporter, opset=opset):
            torch = seeded()
            import transformers
            inner = make(transformers).eval()
            names = list(inputs[0])
            module = Plain(inner, names, pick or (lambda o: o[0]), **fixed)
            arguments = tuple(torch.from_numpy(v) for v in inputs[0].values())
            if exporter == "dynamo" and dynamic:
                dims = torch.export.Dim.DYNAMIC
                shapes = ((tuple({a: dims for a in dynamic[n]} for n in names)),)
                torch.onnx.export(module.eval(), arguments, path, input_names=names, opset_version=opset, dynamo=True,
                                  dynamic_shapes=shapes, verbose=False)
            else:
                export(module, arguments, path, opset, exporter == "dynamo", names, dynamic=dynamic)
            return inputs if dynamic else inputs[:1]


def transformers_models():
    small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=97)
    spread = {0: "batch", 1: "length"}

    def text(*sizes):
        return [{"input_ids": ints(b, n), "attention_mask": np.tril(np.ones((n, n), np.int64))[[-1] * (b - 1) + [n // 2]]}
                for b, n in sizes]
    masked = {"input_ids": spread, "attention_mask": spread}
    both = text((2, 7), (3, 5))
    # Of opset 23 ONNX Runtime wants the tables of a rotary embedding repeated for each batch.
    single, longer = text((1, 7), (1, 5)), {"input_ids": {1: "length"}, "attention_mask": {1: "length"}}
    script, dynamo = "script", "dynamo"
    transformer("bert", lambda t: t.BertModel(t.BertConfig(**small)), both, [(script, 18), (dynamo, 20)], masked)
    transformer("distilbert", lambda t: t.DistilBertForSequenceClassification(t.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=97)), both, [(dynamo, 18)], masked)
    transformer("roberta", lambda t: t.RobertaForTokenClassification(t.RobertaConfig(**small)), both, [(script, 18)], masked)
    transformer("gpt2", lambda t: t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=97)),
                both, [(script, 18), (dynamo, 21)], masked, use_cache=False)
    transformer("llama", lambda t: t.LlamaForCausalLM(t.LlamaConfig(**small, num_key_value_heads=2)), both,
                [(script, 18), (dynamo, 22)], masked, use_cache=False)
    transformer("qwen3", lambda t: t.Qwen3ForCausalLM(t.Qwen3Config(**small, num_key_value_heads=2, head_dim=8)), single,
                [(dynamo, 23)], longer, use_cache=False)
    transformer("gemma", lambda t: t.GemmaForCausalLM(t.GemmaConfig(**small, num_key_value_heads=1, head_dim=8)), single,
                [(dynamo, 23)], longer, use_cache=False)
    transformer("t5", lambda t: t.T5EncoderModel(t.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                                            vocab_size=97)), both, [(script, 18)], masked)
    transformer("mistral", lambda t: t.MistralForCausalLM(t.MistralConfig(**small, num_key_value_heads=2, sliding_window=4)),
                both, [(dynamo, 20)], masked, use_cache=False)
    transformer("albert", lambda t: t.AlbertModel(t.AlbertConfig(**small, embedding_size=16)), both, [(script, 18)], masked)
    image = [{"pixel_values": floats(n, 3, 32, 32)} for n in (2, 3)]
    pixels = {"pixel_values": {0: "batch"}}
    transformer("vit", lambda t: t.ViTModel(t.ViTConfig(**{k: v for k, v in small.items() if k != "vocab_size"},
                                                        image_size=32, patch_size=8)), image, [(script, 18), (dynamo, 22)], pixels)
    transformer("segformer", lambda t: t.SegformerForSemanticSegmentation(t.SegformerConfig(
        hidden_sizes=[8, 16, 24, 32], decoder_hidden_size=16, depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4])),
        image, [(dynamo, 18)])
    transformer("whisper", lambda t: t.WhisperModel(t.WhisperConfig(
        d_model=32, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=97, num_mel_bins=16, max_source_positions=20,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)).encoder,
        [{"input_features": floats(2, 16, 40)}], [(script, 18), (dynamo, 23)])
    transformer("wav2vec2", lambda t: t.Wav2Vec2Model(t.Wav2Vec2Config(
        **small, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)), [{"input_values": floats(2, 200)}], [(dynamo, 18)])
    transformer("clip", lambda t: t.CLIPModel(t.CLIPConfig(
        text_config=dict(**small, max_position_embeddings=16, eos_token_id=96),
        vision_config=dict(**{k: v for k, v in small.items() if k != "vocab_size"}, image_size=32, patch_size=8),
        projection_dim=16)), [{"input_ids": ints(2, 7), "pixel_values": floats(3, 3, 32, 32)}], [(script, 18)],
        pick=lambda o: (o.logits_per_text, o.image_embeds))


# --- timm ------------------------------------------------------------------------------------------------------------


def timm_models():
    for label, exporter, opset, size, options in [
            ("resnet18", "script", 18, 64, {}), ("resnet18", "dynamo", 18, 64, {}), ("mobilenetv3_small_050", "dynamo", 20, 64, {}),
            ("efficientnet_b0", "script", 18, 64, {}), ("convnext_atto", "dynamo", 21, 64, {}), ("regnetx_002", "dynamo", 22, 64, {}),
            ("vit_tiny_patch16_224", "dynamo", 23, 64, {"img_size": 64, "depth": 3}),
            ("swin_tiny_patch4_window7_224", "script", 18, 56, {"img_size": 56, "embed_dim": 24, "depths": (1, 1, 2, 1)}),
            ("mobilevit_xxs", "dynamo", 18, 64, {}), ("densenet121", "script", 18, 64, {})]:
        @model(f"timm/{label}-{exporter}-{opset}", tolerance=1e-3, needs="torch timm")
        def write(path, label=label, exporter=exporter, opset=opset, size=size, options=options):
            seeded()
            import timm
            import torch
            module = timm.create_model(label, pretrained=False, num_classes=10, **options).eval()
            export(module, (torch.from_numpy(floats(2, 3, size, size)),), path, opset, exporter == "dynamo", ["x"],
                   dynamic={"x": {0: "batch"}})
            return [{"x": floats(n, 3, size, size)} for n in (2, 1)]


# --- scikit-learn, xgboost, lightgbm -----------------------------------------------------------------------------------


def table(rows=200, columns=6, classes=3):
    x = floats(rows, columns)
    return x, (x[:, 0] + x[:, 1] ** 2 > 0.3).astype(np.int64) + (x[:, 2] > 0.8) * (classes > 2)


def sklearn_models():
    def add(label, make, options=None, regression=False):
        @model(f"sklearn/{label}", needs="sklearn skl2onnx")
        def write(path):
            import skl2onnx
            x, y = table()
            fitted = make().fit(x, x[:, 0] * 2 + x[:, 1] if regression else y)
            made = skl2onnx.to_onnx(fitted, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
            save(made, path)
            return [{"X": floats(n, 6, seed=1)} for n in (50, 1)]

    def forest():
        from sklearn.ensemble import RandomForestClassifier
        return RandomForestClassifier(20, max_depth=6, random_state=0)

    def boosting():
        from sklearn.ensemble import GradientBoostingRegressor
        return GradientBoostingRegressor(n_estimators=30, random_state=0)

    def logistic():
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        return make_pipeline(StandardScaler(), LogisticRegression())

    def machine():
        from sklearn.svm import SVC
        return SVC(probability=True, random_state=0)

    def perceptron():
        from sklearn.neural_network import MLPClassifier
        return MLPClassifier((16,), max_iter=200, random_state=0)

    def neighbours():
        from sklearn.neighbors import KNeighborsClassifier
        return KNeighborsClassifier(5)
    add("forest", forest, {"zipmap": False})
    add("boosting", boosting, regression=True)
    add("logistic-zipmap", logistic)
    add("svc", machine, {"zipmap": False})
    add("perceptron", perceptron, {"zipmap": False})
    add("neighbours", neighbours, {"zipmap": False})

    @model("sklearn/columns-with-strings", needs="sklearn skl2onnx")
    def columns(path):
        import skl2onnx
        from sklearn.compose import ColumnTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
        import pandas
        x, y = table()
        colours = np.array(["red", "green", "blue"])[ints(200, high=3)]
        frame = pandas.DataFrame({**{f"f{i}": x[:, i] for i in range(6)}, "colour": colours})
        first = ColumnTransformer([("numbers", StandardScaler(), [f"f{i}" for i in range(6)]),
                                   ("names", OneHotEncoder(handle_unknown="ignore"), ["colour"])])
        fitted = make_pipeline(first, LogisticRegression()).fit(frame, y)
        kinds = [(f"f{i}", skl2onnx.common.data_types.FloatTensorType([None, 1])) for i in range(6)]
        kinds.append(("colour", skl2onnx.common.data_types.StringTensorType([None, 1])))
        made = skl2onnx.convert_sklearn(fitted, initial_types=kinds, options={"zipmap": False}, target_opset={"": 18, "ai.onnx.ml": 3})
        save(made, path)
        given = {f"f{i}": x[:20, i:i + 1] for i in range(6)}
        return [{**given, "colour": colours[:20].reshape(-1, 1).astype(object)}]

    @model("xgboost/classifier", needs="xgboost onnxmltools")
    def xgboost(path):
        import onnxmltools
        import xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType
        x, y = table()
        fitted = xgboost.XGBClassifier(n_estimators=20, max_depth=5).fit(x, y)
        save(onnxmltools.convert_xgboost(fitted, initial_types=[("X", FloatTensorType([None, 6]))], target_opset=15), path)
        return [{"X": floats(n, 6, seed=1)} for n in (50, 1)]

    @model("lightgbm/regressor", needs="lightgbm onnxmltools")
    def lightgbm(path):
        import lightgbm
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType
        x, _ = table()
        fitted = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(x, x[:, 0] * 2 + x[:, 1])
        save(onnxmltools.convert_lightgbm(fitted, initial_types=[("X", FloatTensorType([None, 6]))], target_opset=15), path)
        return [{"X": floats(n, 6, seed=1)} for n in (50, 1)]


# --- ONNX Runtime's tools ----------------------------------------------------------------------------------------------


def save(made, path):
    with open(path, "wb") as f:
        f.write(made.SerializeToString())


def base(name, path):
    """Exports another model of the list and returns its path and inputs."""
    first = path.replace(".onnx", "-base.onnx")
    return first, all_models[name][0](first)


def runtime_models():
    from_bert, from_cnn = "transformers/bert-script-18", "torch/cnn-script-18"

    def dynamic(label, source, **options):
        @model(f"runtime/quantize-dynamic-{label}", tolerance=2e-2, needs="torch transformers onnxruntime")
        def write(path):
            from onnxruntime.quantization import quantize_dynamic
            first, inputs = base(source, path)
            quantize_dynamic(first, path, **options)
            return inputs

    def static(label, source, form, **options):
        @model(f"runtime/quantize-static-{label}", tolerance=2e-2, needs="torch transformers onnxruntime")
        def write(path):
            import onnxruntime.quantization as q
            first, inputs = base(source, path)

            class Reader(q.CalibrationDataReader):
                def __init__(self):
                    self.rest = iter(inputs)

                def get_next(self):
                    return next(self.rest, None)
            q.quantize_static(first, path, Reader(), quant_format=getattr(q.QuantFormat, form), **options)
            return inputs

    def bits(label, source, number, **options):
        @model(f"runtime/matmul-{label}", tolerance=2e-3, needs="torch transformers onnxruntime")
        def write(path):
            import onnx
            from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
            first, inputs = base(source, path)
            config = DefaultWeightOnlyQuantConfig(bits=number, **options)
            quantizer = MatMulNBitsQuantizer(onnx.load(first), algo_config=config)
            quantizer.process()
            quantizer.model.save_model_to_file(path)
            return inputs

    def optimized(label, source, kind, **options):
        @model(f"runtime/optimizer-{label}", tolerance=2e-3, needs="torch transformers onnxruntime")
        def write(path):
            from onnxruntime.transformers import optimizer
            first, inputs = base(source, path)
            made = optimizer.optimize_model(first, model_type=kind, num_heads=4, hidden_size=32, **options)
            made.save_model_to_file(path)
            return inputs

    def saved(label, source, level):
        @model(f"runtime/saved-{label}", tolerance=2e-3, needs="torch transformers onnxruntime")
        def write(path):
            import onnxruntime
            first, inputs = base(source, path)
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            options.optimized_model_filepath = path
            onnxruntime.InferenceSession(first, options, providers=["CPUExecutionProvider"])
            return inputs
    dynamic("bert", from_bert)
    dynamic("lstm", "torch/lstm-script-18")
    static("cnn-qdq", from_cnn, "QDQ")
    static("cnn-qoperator", from_cnn, "QOperator", per_channel=True)
    bits("4bits-llama", "transformers/llama-script-18", 4, block_size=32, is_symmetric=False)
    bits("8bits-bert", from_bert, 8, block_size=16, is_symmetric=True)
    optimized("bert", from_bert, "bert")
    optimized("gpt2", "transformers/gpt2-script-18", "gpt2")
    saved("extended-bert", from_bert, "ORT_ENABLE_EXTENDED")
    # ORT_ENABLE_ALL adds operators for one kind of processor, as ONNX Runtime warns: they are refused.
    saved("extended-resnet18", "timm/resnet18-script-18", "ORT_ENABLE_EXTENDED")


torch_models()
transformers_models()
timm_models()
sklearn_models()
runtime_models()
