# SPDX-License-Identifier: MIT
"""What PyTorch says of the device, as JSON."""
import json

import torch


def main():
    properties = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({
        "available": torch.cuda.is_available(),
        "count": torch.cuda.device_count(),
        "name": properties.name,
        "capability": list(torch.cuda.get_device_capability()),
        "total_bytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "mem_get_info": [free, total],
    }))


if __name__ == "__main__":
    main()
