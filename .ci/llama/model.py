"""Write a llama model of a few MB with random weights, for tests on llama.cpp's server.

usage: model.py FILE

The text that it makes is noise, but every layer is really computed, one token at a
time, by the engine's own code. The same version of this file always writes the same
weights. The file appears under its name only when it is whole.
"""

import os
import sys

import numpy as np
from gguf import GGUFWriter, GGMLQuantizationType, TokenType

BLOCKS, EMBEDDING, HEADS, FEED_FORWARD, CONTEXT = 4, 256, 4, 512, 16384
SEED = 20260801
CHAT_TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def vocabulary():
    """Three special tokens, every byte, and short pieces that detokenize to text."""
    tokens = [("<unk>", TokenType.UNKNOWN), ("<s>", TokenType.CONTROL), ("</s>", TokenType.CONTROL)]
    tokens += [(f"<0x{b:02X}>", TokenType.BYTE) for b in range(256)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["\u2581"] + list(letters) + ["\u2581" + c for c in letters]
    pieces += [c + v for c in letters for v in "aeiou"] + ["\u2581" + c + v for c in letters for v in "aeo"]
    tokens += [(p, TokenType.NORMAL) for p in pieces]
    return tokens


def tensors(vocab):
    """Name and shape of every tensor, in the order in which they are drawn."""
    yield "token_embd.weight", (vocab, EMBEDDING)
    for block in range(BLOCKS):
        prefix = f"blk.{block}."
        yield prefix + "attn_norm.weight", (EMBEDDING,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"{prefix}{name}.weight", (EMBEDDING, EMBEDDING)
        yield prefix + "ffn_norm.weight", (EMBEDDING,)
        yield prefix + "ffn_gate.weight", (FEED_FORWARD, EMBEDDING)
        yield prefix + "ffn_up.weight", (FEED_FORWARD, EMBEDDING)
        yield prefix + "ffn_down.weight", (EMBEDDING, FEED_FORWARD)
    yield "output_norm.weight", (EMBEDDING,)
    yield "output.weight", (vocab, EMBEDDING)


def likelihood(tokens):
    """How far each token's logits spread, one row each.

    The server holds a byte back that is half a character, and drops it where no other
    half comes: an answer of such bytes only would show no token at all. Real models
    seldom write one, so here the pieces win: bytes are about 1 % of what is sampled at
    temperature 1, and next to nothing of what is chosen at 0.
    """
    return np.array([[10.0 if kind == TokenType.NORMAL else 3.0] for _, kind in tokens])


def write(path):
    tokens = vocabulary()
    writer = GGUFWriter(path, "llama")
    writer.add_name("servegate-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0 if kind != TokenType.NORMAL else -float(i) for i, (_, kind) in enumerate(tokens)])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(CHAT_TEMPLATE)

    rng = np.random.default_rng(SEED)
    for name, shape in tensors(len(tokens)):
        if len(shape) == 1:
            writer.add_tensor(name, np.ones(shape, dtype=np.float32))
            continue
        weights = rng.normal(0.0, 0.02, size=shape)
        if name == "output.weight":
            weights *= likelihood(tokens)
        writer.add_tensor(name, weights.astype(np.float16), raw_dtype=GGMLQuantizationType.F16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = sys.argv[1]
    part = f"{path}.{os.getpid()}.part"
    write(part)
    os.replace(part, path)


if __name__ == "__main__":
    main()
