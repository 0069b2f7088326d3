"""Says in words what was fitted and measured.

In: a profile. Out: lines for a terminal. It measures nothing.
"""

from collections.abc import Iterator

from fanfuse_classifier.domain.profile import Figures, Profile


def tell(profile: Profile) -> Iterator[str]:
    """Data, settings, then figures: held-out queries in full, cross-validation in one line."""
    data, model, report = profile.trained_on, profile.model, profile.report
    features = sum(len(rows) for rows in model.features.values())
    lengths = ", ".join(f"{block} {length:g}" for block, length in model.lengths.items())
    yield f"fitted on {data.queries} queries of {len(model.corpora)} corpora: {features} features"
    yield f"chosen by cross-validation: C {data.penalty:g}, lengths {lengths}; floor {model.floor:g}"
    yield f"temperature {model.temperature:.3f}"
    yield f"cross-validated: {_accuracy(report.cross_validated)}"
    yield f"held out ({report.held_out.queries} queries): {_accuracy(report.held_out)}"
    yield from _details(report.held_out)


def _accuracy(figures: Figures) -> str:
    return (
        f"acc@1 {figures.accuracy_1:.4f}, acc@3 {figures.accuracy_3:.4f}, ECE {figures.calibration_error:.4f}, "
        f"log-loss {figures.log_loss:.4f}"
    )


def _details(figures: Figures) -> Iterator[str]:
    for language, found in figures.languages.items():
        yield f"  language {language}: acc@1 {found.accuracy_1:.4f} of {found.queries}"
    for pair in figures.confusions:
        yield f"  {pair.queries} of {pair.labelled} went to {pair.predicted}"
