"""Closed word lists that mark a name beside them: forms of address, offices, legal forms, kinds of organisation.

Out: constants. No name of anybody or anything stands here, but for the closed set of Chinese and Korean family names,
without which a script without capitals gives no name away.
"""

from typing import Final

from fanfuse_classifier.domain.lexicon import word_set


def _forms(words: str) -> tuple[str, ...]:
    """Words as they are written, the longest first: 大学院 is not to be read as 大学."""
    return tuple(sorted(set(words.split()), key=lambda word: (-len(word), word)))


INSIDE_NAMES: Final = word_set("of the de da del della di du des la le van von der den zu bin ibn al el y dos")
COORDINATORS: Final = word_set(
    "and or vs v versus und oder et ou y e o en och og i и или a та και ve veya 和 与 與 及 跟 と や 와 과 및 "
    "و أو और या"
)
LEGAL_FORMS: Final = word_set(
    "inc ltd llc llp plc corp co gmbh ag kg ohg ug se sa sas sarl srl spa bv nv oy ab as aps kk pty pte oao "
    "ooo ооо оао зао"
)
ADDRESSES: Final = word_set("dr mr mrs ms prof st jr sr gen sen rep capt lt")

FAMILY_NAMES_ZH: Final = (
    "王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏"
    "钟汪田姜范石姚谭廖邹熊金陆郝孔崔康毛邱秦江史顾侯邵孟龙段雷钱汤尹黎武赖龚張劉陳楊趙黃吳孫羅鄭謝韓馮鄧許蘇"
    "盧蔣賈葉閻鍾範譚鄒陸顧龍錢湯賴龔"
)
"""The most frequent ones, without everyday adjectives and adverbs (高 任 常 于 方 安 白 万)."""
DOUBLE_FAMILY_NAMES_ZH: Final = _forms("欧阳 司马 上官 诸葛 司徒 慕容 端木 皇甫 尉迟 公孙 令狐 夏侯 歐陽 諸葛")
ADDRESSES_ZH: Final = _forms(
    "先生 女士 小姐 太太 教授 博士 院士 老师 老師 医生 醫生 律师 律師 法官 总统 總統 总理 總理 主席 部长 部長 "
    "省长 市长 市長 董事长 董事長 经理 經理 总裁 總裁 校长 校長 院长 院長 同志 将军 將軍"
)
OFFICES_ZH: Final = _forms(
    "作者 导演 導演 演员 演員 主演 编剧 歌手 总统 總統 总理 總理 主席 首相 国王 皇帝 作家 诗人 詩人 画家 畫家 "
    "教授 球员 创始人 創始人 总裁 總裁 科学家 物理学家 数学家"
)
ORGANISATIONS_ZH: Final = _forms(
    "大学 大學 学院 學院 中学 小学 公司 集团 集團 银行 銀行 医院 醫院 博物馆 博物館 博物院 图书馆 圖書館 "
    "美术馆 研究院 研究所 出版社 委员会 委員會 法院 检察院 协会 協會 基金会"
)
WHICH_ZH: Final = _forms(
    "这 那 哪 某 每 各 该 本 一家 一所 几家 几所 什么 所有 其他 其它 任何 我们 我国 你们 他们 去 上 读 考"
)
"""A stem that opens so says which of several, or begins with a verb: it is no name."""
KINDS_ZH: Final = _forms(
    "商业 保险 上市 有限 股份 责任 物流 快递 证券 基金 国有 民营 民办 私立 公立 私人 综合 综合性 附属 人民 "
    "中央 地方 外资 合资 重点 普通 名牌 国内 国外 外国 海外 大型 小型 中小 科技 贸易 网络 互联网 软件 建筑 "
    "装修 房地产 地产 投资 咨询 担保 租赁 子 分 母 总 开发 政策 专科 社区 三甲 三级 中医 儿童 妇幼 口腔 整形 "
    "动物 宠物 初级 高级 基层 中级 最高 老年 电视 职业 技术 师范 医科 理工 成人 乡镇 县 市 省 当地 附近 农村 "
    "网上 手机 电子 居民 村民 业主 管理 监督 仲裁 行业 消费者"
)
"""What kind of organisation: a stem of these alone is no name."""
STATUTES_ZH: Final = _forms("法 法典 条例 規則 规定 办法 解释 准则 标准 细则 规范 合同 协议 通知")
"""How titles of laws and rules end."""

ADDRESSES_JA: Final = _forms("さん 氏 様 先生 教授 博士 社長 会長 首相 大統領 選手 監督 医師 弁護士")
ORGANISATIONS_JA: Final = _forms(
    "大学 大学院 高校 株式会社 銀行 病院 博物館 美術館 図書館 研究所 新聞社 新聞 協会 財団 電鉄 出版 製作所 工業 空港"
)
KINDS_JA: Final = _forms(
    "国立 私立 公立 市立 県立 都立 総合 地方 商業 大学 中央 上場 有限 投資 信託 保険 専門 救急 動物 女子 短期 "
    "日刊 夕刊 朝刊 地域 医療 学術 国際 付属 附属 外資系 大手"
)
COMMON_ENDS_JA: Final = "者員師士客屋手生親母父兄姉弟妹孫様皆娘息主民僧"
"""A word that ends so says what somebody is: 患者さん is no name."""

FAMILY_NAMES_KO: Final = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염"
    "여추도소석선설"
)
ADDRESSES_KO: Final = _forms("씨 님 교수 박사 선생 선생님 사장 회장 대통령 총리 장관 감독 작가 배우 가수 변호사 기자")
ORGANISATIONS_KO: Final = _forms(
    "대학교 대학 은행 병원 박물관 도서관 미술관 연구소 연구원 주식회사 그룹 전자 재단 협회 신문사 출판사 법원 공항"
)
KINDS_KO: Final = _forms(
    "국립 사립 공립 종합 지방 상업 중앙 상장 유한 투자 보험 대학 전문 응급 동물 동네 지역 시중 저축"
)
PARTICLES_KO: Final = _forms(
    "으로부터 에서는 에서의 이라는 에게서 으로서 으로써 에서 에게 한테 까지 부터 보다 처럼 이랑 라는 하고 으로 "
    "은 는 이 가 을 를 의 에 와 과 도 로 만 랑"
)

ADDRESSES_BEFORE: Final = {
    "ar": word_set(
        "الدكتور دكتور الدكتورة السيد السيدة الأستاذ الأستاذة الشيخ الرئيس الملك الملكة الأمير المهندس البروفيسور"
    ),
    "fa": word_set("دکتر آقای خانم استاد مهندس"),
    "hi": word_set("श्री श्रीमती डॉ डॉक्टर प्रोफेसर प्रो कुमारी पंडित स्वामी राष्ट्रपति प्रधानमंत्री"),
    "he": word_set("ד״ר דוקטור פרופסור מר גברת"),
}
"""Forms of address that stand in front of a name."""
ORGANISATIONS_BEFORE: Final = {
    "ar": word_set("جامعة شركة بنك مصرف مستشفى متحف معهد مؤسسة"),
    "fa": word_set("دانشگاه شرکت بانک بیمارستان موزه"),
}
"""Kinds of organisation that stand in front of what it is called."""
KINDS_AFTER: Final = {
    "ar": word_set("التأمين الطيران التوصيل الشحن خاصة حكومية كبيرة عامة محلي"),
    "fa": word_set("بیمه هواپیمایی"),
}
"""What kind it is: behind an organisation's first word these make no name."""
AND_AR: Final = "و"
