# SPDX-License-Identifier: MIT
"""A program on Taichi, whose library is opened with RTLD_DEEPBIND: a field and an array, in its pool."""
import taichi

taichi.init(arch=taichi.cuda, device_memory_GB=1, offline_cache=False)


def take_batch():
    return taichi.ndarray(taichi.f32, shape=(1000, 1000))


def main():
    field = taichi.field(taichi.f32, shape=1 << 20)
    field.fill(1.0)
    return field, take_batch()


if __name__ == "__main__":
    main()
