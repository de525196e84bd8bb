import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { memo } from "../memo";
import type { Todo } from "../protocol";
import { visible } from "../text/escapes";
import { useWords } from "../ui-state";
import { Check, Chevron, Current, Pending } from "./Icons";

const ICONS: Record<Todo["status"], () => VNode> = {
  pending: Pending,
  in_progress: Current,
  completed: Check,
};

interface Props {
  todos: Todo[];
  /** A question is open: it gets the space, until the person says otherwise. */
  asking: boolean;
}

/** The assistant's plan as a checklist; closed it tells how far it is and what is being done. */
export const Todos = memo(({ todos, asking }: Props): VNode => {
  const t = useWords();
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? !asking;
  const done = todos.filter((todo) => todo.status === "completed").length;
  const current = todos.find((todo) => todo.status === "in_progress");
  return (
    <section class="todos" aria-label={t("plan")}>
      <button type="button" class="todos-head" aria-expanded={open} onClick={() => choose(!open)}>
        <span class="card-chevron">
          <Chevron />
        </span>
        <span>{t("plan.done", { done, count: todos.length })}</span>
        {!open && current && <span class="todos-current">{visible(current.content)}</span>}
      </button>
      {open && (
        <ol tabIndex={0} aria-label={t("plan.steps")}>
          {todos.map((todo, index) => {
            const Icon = ICONS[todo.status] ?? Pending;
            return (
              <li key={index} class={todo.status}>
                <Icon />
                <span dir="auto">{visible(todo.content)}</span>
                <span class="sr">{`(${t.known(`todo.${todo.status}`) ?? todo.status})`}</span>
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
});
