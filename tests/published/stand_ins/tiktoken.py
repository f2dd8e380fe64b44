# SPDX-License-Identifier: MIT
"""In place of the tokenizer, whose tables are downloaded: a token for each four characters, as English has."""


class Encoding:
    def encode(self, text, allowed_special=()):
        return [1 + i % 50000 for i in range((len(text) + 3) // 4)]

    def decode(self, tokens):
        return f"{len(tokens)} tokens"


def get_encoding(name):
    return Encoding()
