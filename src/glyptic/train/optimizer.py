"""AdamW, fused: its moments by the names of the weights that they belong to, out into tensors and back."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from glyptic.train.plan import Plan


def adamw(model: nn.Module, plan: Plan) -> torch.optim.AdamW:
    """Decay pulls matrices and tables to 0; a bias or a norm that is pulled there would only be in the way.

    >>> groups = adamw(nn.Linear(2, 3), Plan(weight_decay=0.1)).param_groups
    >>> [(len(group["params"]), group["weight_decay"]) for group in groups]
    [(1, 0.1), (1, 0.0)]
    """
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in learned if weight.dim() >= 2], "weight_decay": plan.weight_decay},
        {"params": [weight for weight in learned if weight.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=plan.rate, betas=(plan.beta1, plan.beta2), fused=True
    )


def moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """All of the optimizer's state, as torch.distributed.checkpoint would name it: state.WEIGHT.exp_avg and its like."""
    names: dict[Tensor, str] = {weight: name for name, weight in model.named_parameters()}
    return {
        f"state.{names[weight]}.{moment}": torch.as_tensor(value)
        for weight, state in optimizer.state.items()
        for moment, value in state.items()
    }


def restore_moments(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Inverse of `moments`; a KeyError or ValueError if these are not the moments of all weights of this model."""
    by_name = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    found: dict[str, dict[str, Tensor]] = {name: {} for name in by_name}
    for name, value in tensors.items():
        weight, _, moment = name.removeprefix("state.").rpartition(".")
        if value.dim() and value.shape != by_name[weight].shape:
            raise ValueError(f"{name} is {tuple(value.shape)}, not {tuple(by_name[weight].shape)}")
        found[weight][moment] = value
    if tensors and any(set(state) != {"step", "exp_avg", "exp_avg_sq"} for state in found.values()):
        raise ValueError("moments are missing")
    places = [weight for group in optimizer.param_groups for weight in group["params"]]
    names = {weight: name for name, weight in by_name.items()}
    state = {index: found[names[weight]] for index, weight in enumerate(places)} if tensors else {}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
