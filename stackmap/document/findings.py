"""The documents of ``explain`` and ``check``: a card per finding or check, and the rules behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from stackmap.document import blocks as doc
from stackmap.document.interval import notes, span
from stackmap.document.rule_words import (
    FIRST,
    figure,
    filled,
    has_to_wait,
    heading,
    label,
    shown,
    thresholds,
    title,
    words_of,
)
from stackmap.document.wording import percent, plural, sentence
from stackmap.model.topology import Topology, of_another
from stackmap.rules.context import Context
from stackmap.rules.rule import Finding, Rule, Severity

if TYPE_CHECKING:
    from stackmap.rules.decision import Judged
    from stackmap.rules.unjudged import Unjudged

NO_PROBLEM = "No problem found."
NO_WARNING = "No warning"
JUDGED = "{what}: no warning ({disks})."
LONGEST = (
    " Longest queue: {mean}{queue}[, maximum {most}] requests ({device}), {mean}await {await}"
    "[, {mean}service time {service}]."
)
NO_CHECKS = "Could not check anything: start, chunk and stripe of these devices are unknown."
WAITS = "Not yet: first mend what slows the devices below, and measure again. Then:"
CAPTURE = "this capture"  # heads the problems of no device in it
IN_COMMENT = 3  # findings and episodes of a comment
NOTHING_TO_DO = "Nothing to do."
SAID = ("", "Changed first:", "Do:")  # leads of what a comment says of each
CHECK_LABELS = {
    Severity.CRITICAL: "CRITICAL",
    Severity.WARNING: "WARNING",
    Severity.INFO: "info",
    Severity.GOOD: "ok",
}


def explain_document(
    judged: Judged, doubt: str = "", which: str = "", *, why: bool = False
) -> list[doc.Block]:
    """
    Return the first step, the verdict, a card per finding, the worst first, and the open questions.

    Problems of the setup come last, critical ones first. *doubt*: why the figures may be those of another
    machine. *which*: the interval, if it is one of several. *why*: also why questions are open.
    """
    from stackmap.document.episodes import episode_blocks, first_line, no_baseline
    from stackmap.ledger.averages import MIXED

    context, findings, open_questions, setup, times = judged
    topology, interval = context.topology, context.interval
    decision = judged.decide()
    cards = (
        finding_card(topology, finding, number, waits=has_to_wait(topology, decision, finding))
        for number, finding in enumerate(judged.ordered)
    )
    verdict = _verdict(findings, setup, open_questions)
    in_verdict = not_judged(open_questions).removesuffix(".") in verdict
    outside = "outside of the episodes" if times and times.worst else ""
    mixed = [note for note in interval.notes if note.startswith(MIXED)]
    return [
        *_foreign(context, doubt),
        doc.Paragraph(first_line(judged), FIRST),
        *(episode_blocks(topology, times) if times else ()),
        doc.Headline((verdict, which, outside, span(interval))),
        *_who_waits(context),
        *_evidence_of_health(context, findings, open_questions),
        *cards,
        *(doc.Paragraph(sentence(note), "Caution:") for note in mixed),
        *_open_questions(topology, open_questions, why=why, in_verdict=in_verdict),
        *(no_baseline(times.series.count) if times else ()),
        *(note for note in notes(interval) if note.text not in mixed),
    ]


def as_comment(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    """
    Yield the document of ``explain`` as a comment on a ticket, of at most 25 lines.

    Of the first findings it has the sentence and the advice; evidence, caveats and notes are left out.
    """
    cards = 0
    for block in blocks:
        if isinstance(block, doc.Card):
            cards += 1
            if cards <= IN_COMMENT:
                texts = (text for text in block.blocks if isinstance(text, doc.Paragraph))
                texts = (text for text in texts if text.lead in SAID and text.text != NOTHING_TO_DO)
                said = [f"{text.lead} {text.text}".strip() for text in texts]
                yield doc.Paragraph(" ".join(said), f"{block.title.removesuffix('.')}.")
        elif isinstance(block, doc.Headline):
            verdict, *rest = filter(None, block.parts)
            yield doc.Headline(
                (f"{verdict.removesuffix('.')} ({', '.join(rest)})" if rest else verdict,)
            )
        elif not (isinstance(block, doc.Paragraph) and block.lead == "note:"):
            yield block
    if cards > IN_COMMENT:
        more = plural(cards - IN_COMMENT, "more finding")
        yield doc.Paragraph(f"{more}: `stackmap explain --input FILE`.")


def _who_waits(context: Context) -> Iterator[doc.Block]:
    """Yield the share of time in which tasks waited for I/O, which the kernel counts for the whole machine."""
    stalled = context.stalled
    if stalled is not None:
        full = "" if stalled.full is None else f", all of them {percent(stalled.full)}"
        yield doc.Paragraph(
            f"tasks waited for I/O {percent(stalled.some)} of the time{full}. Programs that use asynchronous I/O are "
            "not counted. `stackmap blame` lists control groups with their share.",
            "Who waits:",
        )


def _verdict(
    findings: Sequence[Finding], setup: Sequence[Finding], open_questions: Sequence[Unjudged]
) -> str:
    """Return the number of findings per severity; without a grave one, what could not be judged."""
    verdict, apart = _counts(findings), _counts(setup)
    if not any(finding.is_grave for finding in findings):
        alone = f"{NO_WARNING}; {verdict}" if verdict else NO_PROBLEM
        verdict = not_judged(open_questions) or alone
    return f"{verdict.removesuffix('.')}; setup: {apart}" if apart else verdict


def _open_questions(
    topology: Topology, open_questions: Sequence[Unjudged], *, why: bool, in_verdict: bool
) -> Iterator[doc.Block]:
    """
    Yield one line on what could not be judged; *why*: the reasons, and what would answer them.

    *in_verdict*: the verdict has named the open questions.
    """
    if why:
        yield from (open_question(topology, question) for question in open_questions)
    elif open_questions:
        subjects = f"{not_judged(open_questions)} Add `--why` for the reasons."
        yield doc.Paragraph(
            "Add `--why` for why it could not be judged." if in_verdict else subjects
        )


def not_judged(open_questions: Sequence[Unjudged]) -> str:
    """Return "Could not judge: overload, layout."; "" without *open_questions*."""
    subjects = ", ".join(question.question.subject for question in open_questions)
    return f"Could not judge: {subjects}." if subjects else ""


def open_question(topology: Topology, unjudged: Unjudged) -> doc.Paragraph:
    """Return why a question is open, and what would answer it."""
    question, words = unjudged.question, words_of(topology, unjudged.observed)
    subject = question.subject.removeprefix("the ")
    lead = f"{subject[:1].upper()}{subject[1:]} not judged:"
    return doc.Paragraph(f"{filled(question.reason, words)} {question.advice}", lead)


def _evidence_of_health(
    context: Context, findings: Sequence[Finding], open_questions: Sequence[Unjudged]
) -> list[doc.Block]:
    """Return the judged questions without a problem, with the longest queue; [] after a problem."""
    # check has no load
    from stackmap.rules.disk import expected_ms, service_ms
    from stackmap.rules.unjudged import DISKS, LOAD, OVERLOAD, PARTLY, is_judged

    asked = {question.question for question in open_questions}
    disks = [d for d in context.disks if is_judged(context, d)]
    known = [(q, d.name) for d in disks if (q := context.load(d.name).aqu) is not None]
    if not known or asked & {LOAD, DISKS, PARTLY} or any(e.is_grave for e in findings):
        return []
    queue, name = max(known)
    load = context.load(name)
    all_disks = all(not context.topology.below(disk) for _, disk in known)
    words = {
        "what": "Slow disks" if OVERLOAD in asked else "Overload and slow disks",
        "disks": plural(len(known), "disk" if all_disks else "device"),
        "queue": shown(queue, "requests"),
        "device": title(context.topology, name),
        "await": shown(load.total.await_ms or 0.0, "ms"),
    }
    queues = [part.loads[name].aqu or 0.0 for part in context.series if name in part.loads]
    words["mean"] = "mean " if queues else ""
    if queues:
        words["most"] = shown(max(queues), "requests")
    device, service = context.topology[name], service_ms(load)
    # Requests that arrive in bursts wait for each other, though the mean queue is short.
    if service and (load.total.await_ms or 0.0) > expected_ms(device, load.total.size or 0.0):
        words["service"] = shown(service, "ms")
    longest = "" if OVERLOAD in asked else LONGEST
    return [doc.Paragraph(filled(JUDGED + longest, words))]


def _foreign(context: Context, doubt: str) -> list[doc.Block]:
    """Return a warning if the figures are, or may be, from another machine than the topology."""
    ours = context.topology.machine
    difference = of_another(ours, context.interval.machine)
    if difference:
        doubt = (
            f"The figures are from {difference}. The findings use the devices of "
            f"{ours.host or 'this machine'}: check that the names mean the same disks."
        )
    return [doc.Paragraph(sentence(doubt), "Caution:")] if doubt else []


def check_document(
    topology: Topology, findings: Sequence[Finding], *, passed: bool
) -> list[doc.Block]:
    """Return the number of problems and the problems by device; *passed*: also what is well."""
    if not findings:
        return [doc.Paragraph(NO_CHECKS)]
    problems = [finding for finding in findings if finding.severity is not Severity.GOOD]
    checks = plural(len(findings) - len(problems), "check")
    summary = (
        f"{_counts(problems)}; {checks} passed." if problems else f"No problems: {checks} passed."
    )
    groups = [
        (title(topology, name) or CAPTURE, tuple(group))
        for name, group in groupby(
            findings if passed else problems, key=lambda finding: finding.device
        )
    ]
    worst = list(Severity)
    groups.sort(key=lambda group: min(worst.index(finding.severity) for finding in group[1]))
    listed = tuple(
        (name, tuple(_check_card(topology, finding) for finding in group)) for name, group in groups
    )
    return [doc.Paragraph(summary), *([doc.Checklist(listed)] if listed else [])]


def _counts(findings: Sequence[Finding]) -> str:
    """Return "1 critical, 3 warnings, 2 infos, 1 good", without those that there are none of."""
    counts = Counter(finding.severity for finding in findings)
    nouns = (Severity.WARNING, Severity.INFO)
    return ", ".join(
        plural(counts[severity], severity)
        if severity in nouns
        else f"{counts[severity]} {severity}"
        for severity in Severity
        if counts[severity]
    )


def findings_table(topology: Topology, findings: Iterable[Finding]) -> doc.Table:
    """Return a row per finding, for data frames; its evidence has a unit per figure, and is left out."""
    keys = ("severity", "outcome", "id", "rule", "name", "label", "sentence")
    rows = (
        (
            str(finding.severity),
            str(finding.rule.outcome),
            finding.rule.id,
            finding.rule.name,
            finding.device,
            title(topology, finding.device),
            filled(finding.sentence, words_of(topology, finding.observed)),
        )
        for finding in findings
    )
    columns = tuple(doc.Column(key, key, is_text=True) for key in keys)
    return doc.Table("findings", columns, (doc.Rows(tuple(rows)),))


def rules_document(rules: Iterable[Rule]) -> list[doc.Part]:
    """Return one part per rule, in the order of ids: its condition, thresholds and source."""
    parts = []
    for rule in sorted(rules, key=attrgetter("id")):
        others = " or ".join(rule.superseded_by)
        said = {
            "detects:" if rule.needs_load else "checks:": rule.detects,
            "thresholds:": thresholds(rule) or "none",
            "omitted if:": others and f"{others} reports the same device",
            "source:": rule.source,
        }
        blocks = tuple(doc.Paragraph(text, lead) for lead, text in said.items() if text)
        parts.append(doc.Part(f"{rule.id} {rule.name}: {rule.severity}", blocks))
    return parts


def finding_card(
    topology: Topology, finding: Finding, number: int, *, waits: bool = False
) -> doc.Card:
    """
    Return the card of *finding*: title, sentence, caveat, advice, evidence; *number*: its anchor.

    *waits*: its advice has to wait until the first cause is mended.
    """
    rule, tone = finding.rule, str(finding.severity)
    also = "{also}." if finding.peers else ""
    setup = (("Should be:", rule.expected), ("Why:", rule.reason))
    advice = f"{WAITS} {rule.advice}" if waits else rule.advice
    leads = (*setup, ("Also:", also), ("But:", rule.caveat), ("Do:", advice))
    texts = _texts(topology, finding, leads)
    if not rule.needs_load:  # check prints phrases, not sentences
        texts = [text._replace(text=sentence(text.text)) for text in texts]
    blocks: list[doc.Block] = [*texts]
    if finding.observed.evidence:
        evidence = _evidence(topology, finding, number)
        blocks.append(doc.Folded("Evidence", (evidence,), printed=False))
    title = f"{heading(topology, finding)} ({rule.id} {rule.name})"
    return doc.Card(tone, title, tuple(blocks), f"finding-{number}", tone)


def _check_card(topology: Topology, finding: Finding) -> doc.Card:
    """Return the card of a check; only a problem has a reason and advice."""
    rule = finding.rule
    leads = (("Should be:", rule.expected), ("Why:", rule.reason), ("Do:", rule.advice))
    first, *details = _texts(topology, finding, leads)
    tone, words = str(finding.severity), CHECK_LABELS[finding.severity]
    return doc.Card(tone, f"{first.text} ({rule.id})", tuple(details), label=words)


def _texts(
    topology: Topology, finding: Finding, details: tuple[tuple[str, str], ...]
) -> list[doc.Paragraph]:
    """Return the sentence of *finding*, then its *details* by lead unless it is good."""
    words = words_of(topology, finding.observed)
    shown_details = () if finding.severity is Severity.GOOD else details
    return [
        doc.Paragraph(filled(finding.sentence, words)),
        *(doc.Paragraph(filled(text, words), lead) for lead, text in shown_details if text),
    ]


def _evidence(topology: Topology, finding: Finding, number: int) -> doc.Table:
    rows = tuple(
        (
            label(finding.rule, name),
            title(topology, it.device),
            doc.Value(it.value, partial(figure, unit=it.unit)),
        )
        for name, it in finding.observed.evidence.items()
    )
    return doc.Table(
        f"evidence-{number}",
        doc.plain_columns(("evidence", "device", "value"), 2),
        (doc.Rows(rows),),
        caption=f"Source of the rule: {finding.rule.source}",
    )
