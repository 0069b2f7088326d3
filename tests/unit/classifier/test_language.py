"""Language and scripts: told where they can be told, None where not, the same every time."""

import json
import tarfile

import pytest

from fanfuse_classifier.domain.shape import classify_shape


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is RAG?", "en"),
        ("How do I reset my password?", "en"),
        ("HOW DO I RESET MY PASSWORD", "en"),
        ("acme 2024 earnings", "en"),
        ("has anyone investigated the effect of surface mass transfer", "en"),
        ("Was ist RAG?", "de"),
        ("Wie kann ich mein Passwort zurücksetzen?", "de"),
        ("Comment puis-je réinitialiser mon mot de passe ?", "fr"),
        ("¿Cómo puedo restablecer mi contraseña?", "es"),
        ("Jak mogę zresetować swoje hasło?", "pl"),
        ("Parolamı nasıl sıfırlayabilirim?", "tr"),
        ("Làm thế nào để đặt lại mật khẩu?", "vi"),
        ("Как я могу сбросить свой пароль?", "ru"),
        ("Як я можу скинути свій пароль?", "uk"),
        ("كيف أعيد تعيين كلمة المرور", "ar"),
        ("मैं अपना पासवर्ड कैसे रीसेट करूँ", "hi"),
        ("什么是检索增强生成？", "zh"),
        ("RAG 是什么", "zh"),
        ("установить Python в Linux", "ru"),
        ("איך להתקין Python ב-Linux", "he"),
        ("パスワードを忘れた", "ja"),
        ("비밀번호를 잊었어요", "ko"),
        ("ลืมรหัสผ่าน", "th"),
        ("שכחתי סיסמה", "he"),
        ("Ξέχασα τον κωδικό μου", "el"),
        ("What does 汉 mean in English?", "en"),
        ("Wer war Johann Wolfgang von Goethe?", "de"),
        ("Victor Hugo et Émile Zola", "fr"),
        ("O'Reilly Media and Tim O'Reilly", "en"),
        ("Lionel Messi 和 Cristiano Ronaldo 谁更强", "zh"),
        ("mikä on paras tapa oppia kieliä", "fi"),
        ("o que é isto", "pt"),
        # too short, even mixes, nothing to read
        ("thiamine", None),
        ("hello мир αβγ", None),
        ("TRAVEL-2026-01", None),
        ("2024", None),
        ("😀", None),
        ("", None),
    ],
)
def test_language(text, language):
    assert classify_shape(text).language == language


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("What is RAG?", ("latin",)),
        ("TRAVEL-2026-01 中取消行程的退票费如何处理", ("han", "latin")),
        ("パスワードを忘れた", ("katakana", "hiragana", "han")),
        ("कैसे hello", ("latin", "devanagari")),
        ("ab мг", ("cyrillic", "latin")),
        ("𓀀 hello", ("latin", "other")),
        ("2024 😀 ...", ()),
    ],
)
def test_scripts_most_frequent_first_then_by_name(text, scripts):
    assert classify_shape(text).scripts == scripts


def test_real_queries_get_no_foreign_language(shared):
    """Of the English queries of nine public collections under 0.5 % lose the vector lane to a wrong language."""
    with tarfile.open(shared / "data/routing.tar.xz") as archive:
        member = archive.extractfile("routing/test.jsonl")
        assert member is not None
        lines = member.read().decode().splitlines()
    queries = [row for row in map(json.loads, lines) if row["lang"] == "en"]
    found = [classify_shape(query["text"]).language for query in queries]
    foreign = [language for language in found if language not in {"en", None}]

    assert len(queries) > 500
    assert len(foreign) <= 0.005 * len(queries)
    assert found.count("en") >= 0.9 * len(queries)
