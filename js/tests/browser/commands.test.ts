import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { view } from "../support/model";
import { area, asking, frame, mounted, question } from "../support/mounted";

const servers = [
  {
    name: "git",
    state: "connected" as const,
    message: null,
    tool_count: 2,
    commands: [
      { text: "/mcp__git__log", hint: "<since> What happened" },
      { text: "/mcp__git__blame", hint: "" },
      { text: "@git:note://a", hint: "The \u202enote" },
    ],
  },
  { name: "web", state: "failed" as const, message: "gone", tool_count: 0, commands: [] },
];

test("what is typed is completed by keyboard, and sent only by the next Enter", async () => {
  const m = await mounted(view([], { servers }));
  await userEvent.click(area(m));
  await userEvent.keyboard("/mcp");
  await frame();
  const offered = (): string[] => m.all("[role=option]").map((each) => each.textContent!.trim());
  expect(offered()).toEqual(["/mcp__git__log <since> What happened", "/mcp__git__blame"]);
  expect(area(m).getAttribute("aria-activedescendant")).toBe("command-0");
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await frame();
  expect(area(m).value).toBe("/mcp__git__blame ");
  expect(offered()).toEqual([]);
  expect(m.model.commands("send")).toEqual([]);
  await userEvent.keyboard("@no");
  await frame();
  expect(offered()).toEqual(["@git:note://a The \\u202Enote"]);
  await userEvent.keyboard("{Escape}");
  await frame();
  expect(offered()).toEqual([]);
  await userEvent.keyboard("t{Tab}{Enter}");
  await frame();
  expect(m.model.commands("send").map((c) => c.text)).toEqual(["/mcp__git__blame @git:note://a "]);
});

test("the header says how many servers are there, and which is not", async () => {
  const m = await mounted(view([], { servers }));
  const sign = m.all(".kept").find((each) => each.textContent!.startsWith("MCP"))!;
  expect(sign.textContent).toBe("MCP 1/2");
  expect(sign.title).toBe("web");
  expect(sign.querySelector("button")).toBeNull();
});

test("a server that is starting can be given up", async () => {
  const web = { ...servers[1]!, state: "starting" as const };
  const m = await mounted(view([], { servers: [servers[0]!, web] }));
  await userEvent.click(m.find('[aria-label="Cancel: MCP"]'));
  expect(m.model.commands("stop_servers")).toHaveLength(1);
});

test("a form is asked for as one, and no rule is spoken of", async () => {
  const m = await mounted(
    asking({ ...question(), is_form: true, rules: [], options: ["edit", "deny"] }),
  );
  expect(m.find("#question-title").textContent).toBe("run_python asks for input");
  expect(m.find(".once-only")).toBeNull();
});
