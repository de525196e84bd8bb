// The model of the next run, how much it thinks, and the key it needs.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CommandName, ModelView } from "../protocol";
import { visible } from "../text/escapes";
import { isLeaveKey, useTools, useWords } from "../ui-state";
import { refusalInWords } from "../words";

interface ChoiceProps {
  name: string;
  value: string;
  values: string[];
  /** What is shown for a value. */
  text: (value: string) => string;
  choose: (value: string) => void;
  onFocus?: () => void;
}

function Choice({ name, value, values, text, choose, onFocus }: ChoiceProps): VNode {
  return (
    <select
      dir="auto"
      aria-label={name}
      value={value}
      onFocus={onFocus}
      onChange={(event) => {
        const field = event.currentTarget;
        const chosen = field.value;
        field.value = value; // what holds comes from the kernel
        choose(chosen);
      }}
    >
      {values.map((each) => (
        <option key={each} value={each}>
          {visible(text(each))}
        </option>
      ))}
    </select>
  );
}

const focused = (field: HTMLInputElement | null): void => field?.focus();

export function ModelMenu({ model }: { model: ModelView }): VNode {
  const t = useWords();
  const tools = useTools();
  const { alias, label, choices, thinking_levels } = model;
  const thinking = model.thinking ?? "";
  const [listed, setListed] = useState<string[] | null>(null);
  /** The model whose key is asked for. */
  const [keyed, setKeyed] = useState<string | null>(null);
  const tell = async (name: CommandName, fields: Record<string, string>): Promise<void> => {
    const outcome = await tools.command(name, fields);
    if (outcome.ok) setKeyed(null);
    else if (outcome.code === "NO_CREDENTIALS") setKeyed(fields.model!);
    else tools.remark(refusalInWords(t, outcome.code, outcome.message));
  };
  const list = async (): Promise<void> => {
    if (listed) return;
    setListed([]);
    const outcome = await tools.command("list_models");
    if (outcome.ok) setListed(outcome.models!);
  };
  return (
    <>
      <Choice
        name={t("model")}
        value={alias}
        values={[...new Set([alias, ...choices, ...(listed ?? []), ""])]}
        text={(name) => (name === alias ? label : name || `${t("model.key")}…`)}
        onFocus={list}
        choose={(name) => (name ? tell("set_model", { model: name }) : setKeyed(alias))}
      />
      {thinking_levels.length > 0 && (
        <Choice
          name={t("model.thinking")}
          value={thinking}
          values={
            thinking_levels.includes(thinking) ? thinking_levels : [thinking, ...thinking_levels]
          }
          text={(level) => (level ? t("model.level", { level }) : t("model.thinking"))}
          choose={(level) => tell("set_thinking", { level })}
        />
      )}
      {keyed !== null && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            // What is typed goes to the kernel and is kept nowhere in the page.
            const field = event.currentTarget.elements[0] as HTMLInputElement;
            const key = field.value;
            field.value = "";
            tell("set_key", { key, model: keyed });
          }}
          onKeyDown={(event) => isLeaveKey(event) && setKeyed(null)}
        >
          <input ref={focused} type="password" placeholder={t("model.key")} autocomplete="off" />
          <button type="submit" class="quiet-button">
            {t("model.key.use")}
          </button>
        </form>
      )}
    </>
  );
}
