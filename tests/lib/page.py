# SPDX-License-Identifier: MIT
"""What a page of `vtrace html` holds, read without a browser (analyzer/html/pack.h has the format)."""
import base64
import json
import re
import struct
import zlib


class Page:
    """The first recording's data, or what a page of several says of them: `kind` is "comparison"."""

    def __init__(self, path, kind="data"):
        self.text = path.read_text(encoding="utf-8", errors="strict")
        data = rf'<script type="application/octet-stream" class="{kind}">(.*?)</script>'
        packed = re.search(data, self.text, re.S).group(1)
        payload = zlib.decompress(base64.b64decode(packed))
        length, = struct.unpack_from("<I", payload)
        self.data = json.loads(payload[4:4 + length])
        self.columns = payload[4 + length:]

    def column(self, name):
        offset, nr_bytes, nr = self.data["columns"][name]
        numbers, value, shift, last = [], 0, 0, 0
        for byte in self.columns[offset:offset + nr_bytes]:
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                last += (value >> 1) ^ -(value & 1)
                numbers.append(last)
                value = shift = 0
        assert len(numbers) == nr
        return numbers

    def tops(self, device=0):
        """Owner to its bytes in each bucket, at the instant of the bucket's highest total."""
        owners = self.data["series"]["devices"][device]["owners"]
        return {owner: self.column(f"{device}.top.{i}") for i, owner in enumerate(owners)}

    @property
    def markup(self):
        """The page without scripts, style and data."""
        return re.sub(r"<(script|style)\b.*?</\1>", "", self.text, flags=re.S)
