"""Which device and number format a run uses."""

from __future__ import annotations

import ctypes

import torch


def bf16_is_fast(device: torch.device) -> bool:
    """Whether the processor multiplies bf16 matrices in hardware (AVX512-BF16, AMX, or a GPU from Ampere on)."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        can = torch.cpu.get_capabilities()
        return bool(can.get("amx_bf16") or can.get("avx512_bf16"))
    return False


def choose_precision(wanted: str, device: torch.device) -> str:
    """ "fp32", "bf16" or "fp16" for the setting and the device.

    Raises:
        ValueError: for fp16 without a CUDA device.
    """
    if wanted == "auto":
        return "bf16" if bf16_is_fast(device) else "fp32"
    if wanted == "fp16" and device.type != "cuda":
        raise ValueError(
            "precision fp16 needs a CUDA device and this run is on the CPU; choose auto, bf16 or fp32"
        )
    return wanted


def check_devices(wanted: str) -> None:
    """Refuse a `devices` setting that this machine cannot fulfil.

    Raises:
        ValueError: with what is there.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    cards = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    for name in names or [""]:
        cpus = name == "cpu" or (name.startswith("cpu*") and name[4:].isdigit() and 1 <= int(name[4:]) <= 64)
        if name not in ("auto", "mps", *cards) and not cpus:
            raise ValueError(
                f"there is no device {name!r} here; devices may be auto, cpu, cpu*2{''.join(', ' + c for c in cards)}"
            )
    if len(names) > 1 and not all(name.startswith("cuda:") for name in names):
        raise ValueError(
            f"devices {wanted!r} mixes kinds; give one device or several GPUs such as cuda:0,cuda:1"
        )


def describe_device(device: torch.device) -> str:
    """The device in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU, {torch.get_num_threads()} threads"


def keep_memory() -> None:
    """Have the C library hold on to freed memory, which a step on the CPU asks for again and again.

    Else every large gradient is a fresh mapping whose pages the kernel fills with zeros, over and over. Only
    glibc has these options (mallopt(3)); elsewhere nothing happens.
    """
    keep_below, map_above, arenas = -1, -3, -8  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(map_above, 1 << 30)
    mallopt(keep_below, 2**31 - 1)
    mallopt(arenas, 1)  # another thread's memory would be mapped anew for all that is large
