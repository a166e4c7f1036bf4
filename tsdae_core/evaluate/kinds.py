"""The kinds of tasks and the format of each one's files, said once for the page, the command line and the errors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of task.

    Attributes:
        key: as in KIND:PATH.
        title: what a person calls it.
        text: the format, in two lines.
        example: the first lines of such a file.
        measures: what is measured, the main one first.
        upload: endings of the files that the page takes; empty when it takes none.
    """

    key: str
    title: str
    text: str
    example: str
    measures: str
    upload: tuple[str, ...] = (".tsv", ".csv", ".txt", ".jsonl", ".json", ".parquet", ".gz")


KINDS: dict[str, Kind] = {
    kind.key: kind
    for kind in (
        Kind(
            "pairs",
            "Scored pairs",
            "A row holds two sentences and a number that is higher the more alike they are.\n"
            "Three columns in this order, or a first line that names them sentence1, sentence2, score.",
            "A man plays a guitar.\tA man makes music.\t3.8\nA dog runs.\tThe bank is closed.\t0",
            "Spearman correlation",
        ),
        Kind(
            "paraphrases",
            "Paraphrase pairs",
            "A row holds two sentences and 1 when they say the same, 0 when not; a row with an empty label is left out.\n"
            "Three columns in this order, or a first line that names them sentence1, sentence2, label.",
            "how to open a jar\tways to open jars\t1\nhow to open a jar\thow to open a shop\t0",
            "average precision",
        ),
        Kind(
            "reranking",
            "Re-ranking lists",
            "A row holds a query, a candidate and 1 or 0 (relevant or not); rows with the same query are one list.\n"
            'Or JSON lines of {"query": ..., "positive": [...], "negative": [...]}.',
            "screen stays black\tmonitor shows no picture\t1\nscreen stays black\tkeyboard has no light\t0",
            "MAP, MRR",
        ),
        Kind(
            "retrieval",
            "Retrieval (BEIR layout)",
            'A folder or zip of corpus.jsonl and queries.jsonl with one {"_id": ..., "title": ..., "text": ...} per line,\n'
            "and qrels.tsv or qrels/test.tsv: a first line, then query id, document id and grade, with tabs between.",
            "query-id\tcorpus-id\tscore\nq1\td17\t1",
            "MAP@100, nDCG@10",
            (".jsonl", ".tsv", ".zip"),
        ),
        Kind(
            "labels",
            "Labelled sentences",
            "A row holds a sentence and its label; every label has at least two sentences.\n"
            "Two columns, or a first line that names them sentence and label.",
            "the printer is out of paper\thardware\nhow do I change my password\taccount",
            "kNN accuracy, linear probe, V-measure, same-label MAP",
        ),
        Kind(
            "useb",
            "USEB folder, test split",
            "The USEB toolkit's folder data-eval, or a zip of it: askubuntu, cqadupstack, scidocs, twitterpara.\n"
            "Those that are there are scored by the toolkit's own rules; the average needs all four.",
            "data-eval/askubuntu/test.txt\ndata-eval/scidocs/data.json",
            "the TSDAE paper's: MAP, MAP@100, MAP, AP",
            (".zip",),
        ),
        Kind(
            "useb-valid",
            "USEB folder, validation split",
            "As useb, on the validation splits.\nTwitterPara has none, so its test split is used, as the toolkit does.",
            "data-eval/askubuntu/dev.txt\ndata-eval/scidocs/data.json",
            "the TSDAE paper's: MAP, MAP@100, MAP, AP",
            (".zip",),
        ),
        Kind(
            "damaged",
            "Proxy: damaged sentence finds its original",
            "Any text, one sentence per line: 60 % of a sentence's words are deleted, and the rest must find the sentence\n"
            "among all others. Made from your own text, so a proxy: it favours whoever matches words.",
            "The meeting was moved to Thursday.\nOur printer is out of paper.",
            "MRR, R@1",
        ),
        Kind(
            "halves",
            "Proxy: two halves of a document find each other",
            "Any text, one document per line: the first half of a document must find the second among all others.\n"
            "Made from your own text, so a proxy: two halves share a topic, they need not mean the same.",
            "First sentence. Second sentence. Third one. Fourth one.\nAnother document. It goes on.",
            "MRR, R@1",
        ),
    )
}

PROXIES = ("damaged", "halves")


def split_spec(spec: str) -> tuple[str, str]:
    """ "KIND:PATH" in two. Raises `ValueError` for anything else."""
    kind, colon, path = spec.partition(":")
    if not colon or kind not in KINDS or not path:
        raise ValueError(f"a task is written KIND:PATH with KIND one of {', '.join(KINDS)}; got {spec!r}")
    return kind, path
