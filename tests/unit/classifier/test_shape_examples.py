"""`classify_shape` on examples of every shape, script and trap, each with its reason."""

import pytest

from fanfuse_classifier.domain.shape import MAX_FEATURES, classify_shape
from fanfuse_contracts.enums import Shape

KEYWORD, SEMANTIC, ENTITY, MIXED = Shape.KEYWORD_HEAVY, Shape.SEMANTIC, Shape.ENTITY_RICH, Shape.MIXED

EXAMPLES = [
    # the three examples of the design
    ("acme 2024 earnings", KEYWORD, "keywords"),
    ("What is RAG?", SEMANTIC, "question"),
    ("Alice Smith and Acme Corp", ENTITY, "names"),
    # keywords: exact material, or nouns without grammar
    ("thiamine", KEYWORD, "keywords"),
    ("2024", KEYWORD, "keywords"),
    ("polypropylene plastic", KEYWORD, "keywords"),
    ("HR policy", KEYWORD, "keywords"),
    ("TRAVEL-2026-01", KEYWORD, "identifier"),
    ("RFC 9110", KEYWORD, "identifier"),
    ("CVE-2026-1234 patch", KEYWORD, "identifier"),
    ("python 3.11 release notes", KEYWORD, "identifier"),
    ('"to be or not to be"', KEYWORD, "phrase"),
    ("„künstliche Intelligenz“ Haftung", KEYWORD, "phrase"),
    ("退票费", KEYWORD, "keywords"),
    ("「機械学習」", KEYWORD, "phrase"),
    ("სახლი", KEYWORD, "few_words"),
    # questions and sentences, in any language
    ("how to get the parent directory in python", SEMANTIC, "question"),
    ("python how to lower all elements in a list", SEMANTIC, "question"),
    ("show me the log", SEMANTIC, "question"),
    ("Is it possible to see option prices from the past?", SEMANTIC, "question"),
    ("Statins increase blood cholesterol.", SEMANTIC, "sentence"),
    ("find a calculation procedure for laminar boundary layer flow problems", MIXED, "words_with_grammar"),
    ("the effect of surface mass transfer on hypersonic interactions", SEMANTIC, "sentence"),
    ("WHAT IS RAG", SEMANTIC, "question"),
    ("Was ist RAG?", SEMANTIC, "question"),
    ("Wie kann ich mein Passwort zurücksetzen", SEMANTIC, "question"),
    ("¿Cómo puedo restablecer mi contraseña?", SEMANTIC, "question"),
    ("comment réinitialiser mon mot de passe", SEMANTIC, "question"),
    ("Как сбросить пароль", SEMANTIC, "question"),
    ("πώς αλλάζω τον κωδικό μου", SEMANTIC, "question"),
    ("parolamı nasıl sıfırlarım", SEMANTIC, "question"),
    ("什么是检索增强生成？", SEMANTIC, "question"),
    ("皮蛋是寒性的食物吗", SEMANTIC, "question"),
    ("取消行程后三个工作日内可以申请退款。", SEMANTIC, "sentence"),
    ("パスワードをリセットする方法", SEMANTIC, "sentence"),
    ("비밀번호를 어떻게 재설정하나요", SEMANTIC, "question"),
    ("ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร", SEMANTIC, "question"),
    ("كيف أعيد تعيين كلمة المرور", SEMANTIC, "question"),
    ("איך מאפסים סיסמה", SEMANTIC, "question"),
    ("रीसेट पासवर्ड कैसे करें", SEMANTIC, "question"),
    ("कौन सी किताब पढ़ूँ", SEMANTIC, "question"),
    ("என் கடவுச்சொல்லை எப்படி மாற்றுவது", SEMANTIC, "question"),
    # named things
    ("Bank of America", ENTITY, "one_name"),
    ("Leonardo da Vinci", ENTITY, "one_name"),
    ("When did Alice Smith join Acme Corp?", ENTITY, "names"),
    ('"Alice Smith" "Acme Corp"', ENTITY, "names"),
    ("Алиса Смит и Борис Иванов", ENTITY, "names"),
    # a mix: exact material inside a question, grammar without a sentence
    ("What is CVE-2026-1234?", MIXED, "identifier_in_question"),
    ("How do I use pathlib.Path?", MIXED, "identifier_in_question"),
    ("TRAVEL-2026-01 中取消行程的退票费如何处理", MIXED, "identifier_in_question"),
    ('who wrote the song "Thinking Out Loud"', MIXED, "phrase_in_question"),
    ("refund policy for cancelled trips", MIXED, "words_with_grammar"),
    ("Cancer Risk From CT Scan Radiation", MIXED, "words_with_grammar"),
    ("中国的显卡", MIXED, "words_with_grammar"),
    # nothing to go by
    ("the of and", MIXED, "function_words_only"),
    ("???", MIXED, "no_words"),
    ("...", MIXED, "no_words"),
    ("- - -", MIXED, "no_words"),
    ('""', MIXED, "no_words"),
    ("😀🎉", MIXED, "no_words"),
    ("", MIXED, "no_words"),
    ("\u200b\u3000", MIXED, "no_words"),
    ("\ud83d", MIXED, "no_words"),
]


@pytest.mark.parametrize(("text", "shape", "reason"), EXAMPLES, ids=[ascii(text) for text, _, _ in EXAMPLES])
def test_shape_and_reason(text, shape, reason):
    found = classify_shape(text)

    assert (found.shape, found.reason) == (shape, reason)


def test_a_trailing_quote_or_bracket_does_not_hide_the_question_mark():
    assert classify_shape("(acme earnings?)").shape is SEMANTIC


def test_a_question_mark_alone_makes_no_question_of_an_identifier():
    assert classify_shape("TRAVEL-2026-01?").shape is KEYWORD


def test_expansion_terms_bring_identifiers():
    found = classify_shape("travel refund", expansion_terms=["TRAVEL-2026-01", "money back"])

    assert found.identifiers == ("TRAVEL-2026-01",)


def test_expansion_terms_that_outweigh_a_question_make_it_mixed():
    assert classify_shape("What is RAG?", expansion_terms=["retrieval augmented generation"]).shape is MIXED
    assert classify_shape("What is RAG?", expansion_terms=["..."]).shape is SEMANTIC


def test_a_hyde_vector_brings_keywords_back_to_the_vector_side():
    found = classify_shape("acme 2024 earnings", hyde_vector=[0.1, 0.2])

    assert (found.shape, found.reason) == (MIXED, "keywords_with_hyde_vector")


def test_a_hyde_vector_leaves_an_identifier_to_the_keyword_side():
    assert classify_shape("TRAVEL-2026-01", hyde_vector=[0.1]).shape is KEYWORD


def test_features_are_bounded():
    found = classify_shape(" ".join(f"AB-{number}" for number in range(1_000)))

    assert len(found.identifiers) == MAX_FEATURES
    assert found.identifiers[0] == "AB-0"
