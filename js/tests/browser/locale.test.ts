import { expect, test } from "vitest";
import ar from "../../../agent_widget/view/locale/ar.json";
import de from "../../../agent_widget/view/locale/de.json";
import en from "../../../agent_widget/view/locale/en.json";
import es from "../../../agent_widget/view/locale/es.json";
import fr from "../../../agent_widget/view/locale/fr.json";
import ja from "../../../agent_widget/view/locale/ja.json";
import zh from "../../../agent_widget/view/locale/zh.json";
import { wordsOf } from "../../src/words";
import { message, text, view } from "../support/model";
import { area, asking, frames, mounted } from "../support/mounted";

const TABLES = { ar, de, en, es, fr, ja, zh };

const trait = (locale: keyof typeof TABLES): object => {
  const { direction, page } = TABLES[locale];
  return { locale, direction, words: page };
};

test("in Arabic lines begin at the right, all is translated, code and tools stay as they are", async () => {
  const m = await mounted(asking());
  area(m).value = "a draft";
  area(m).dispatchEvent(new InputEvent("input", { bubbles: true }));
  await frames(2);
  const field = area(m);
  m.model.words = trait("ar");
  m.model.emit("change:words");
  await frames(2);
  const frame = m.find(".aw");
  expect([frame.dir, frame.lang, getComputedStyle(frame).direction]).toEqual(["rtl", "ar", "rtl"]);
  expect(m.find(".question h2").textContent).toBe("هل تسمح بتشغيل run_python؟");
  expect(getComputedStyle(m.find(`[aria-label="${ar.page.model}"]`)).direction).toBe("ltr");
  expect(m.find(".stop").textContent).toBe("إيقاف");
  expect(m.find(".send").getAttribute("aria-label")).toBe("إرسال");
  expect(m.find("[data-decision=deny]").textContent).toBe("رفض");
  expect(getComputedStyle(m.find(".question pre")).direction).toBe("ltr");
  expect(m.find(".queue summary").textContent).toMatch(/^طلبان .*bash, write_file$/);
  expect(m.find(".height-handle").getAttribute("aria-label")).toBe(ar.page.height);
  const said = [...frame.querySelectorAll("button, h2, .status, .card-state")]
    .filter((element) => element.closest(".code-bar, pre") === null)
    .map((element) => (element.textContent || element.getAttribute("aria-label")) ?? "")
    .filter((words) => /[a-z]{2}/.test(words.replace(/run_python|bash|write_file|print/g, "")));
  expect(said).toEqual([]);
  expect(area(m)).toBe(field);
  expect(field.value).toBe("a draft");
  expect(frame.scrollWidth).toBeLessThanOrEqual(frame.clientWidth);
});

test("a language changes what is on the page, the copy buttons of old code among it", async () => {
  const m = await mounted(view([message("a", [text("```py\nx\n```")])]));
  const label = (): string => getComputedStyle(m.find(".copy"), "::after").content;
  expect(label()).toBe('"Copy"');
  for (const locale of ["de", "en", "ja"] as const) {
    m.model.words = trait(locale);
    m.model.emit("change:words");
    await frames(2);
    expect(label()).toBe(JSON.stringify(TABLES[locale].page.copy));
    expect(m.find("#aw-copy").textContent).toBe(TABLES[locale].page["copy.code"]);
    expect(m.find(".status").textContent).toBe(TABLES[locale].page["phase.idle"]);
  }
});

test("the forms of a table are those that the browser counts by, numbers have its marks", () => {
  for (const [locale, { page }] of Object.entries(TABLES)) {
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
    // The form for whole millions is the same as `other` here.
    const millions = ["fr", "es"].includes(locale) ? ["many"] : [];
    const forms = [...Object.keys(page["output.lines"]), ...millions];
    expect(forms.sort(), locale).toEqual([...pluralCategories].sort());
  }
  const counted = (locale: keyof typeof TABLES, count: number): string =>
    wordsOf(trait(locale))("output.earlier", { count });
  expect(counted("de", 1200)).toBe("1.200 frühere Zeilen");
  expect([1, 2, 5, 12].map((count) => counted("ar", count))).toEqual([
    "سطر سابق واحد",
    "سطران سابقان",
    "5 أسطر سابقة",
    "12 سطرًا سابقًا",
  ]);
  expect(wordsOf(null)("send")).toBe("send");
});
