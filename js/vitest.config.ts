import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

// The system's Chromium, or the one the variable names; without either, Playwright's own.
const named = process.env.AGENT_WIDGET_CHROMIUM ?? "/usr/bin/chromium";
const launchOptions = {
  args: ["--no-sandbox"],
  ...(existsSync(named) ? { executablePath: named } : {}),
};

const jsx = { jsx: { runtime: "automatic", importSource: "preact" } } as const;

export default defineConfig({
  test: {
    projects: [
      {
        oxc: jsx,
        test: { name: "unit", include: ["tests/unit/**/*.test.ts"], environment: "node" },
      },
      {
        oxc: jsx,
        optimizeDeps: {
          include: [
            "preact",
            "preact/hooks",
            "preact/jsx-dev-runtime",
            "dompurify",
            "marked",
            "highlight.js/lib/core",
          ],
        },
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.{ts,tsx}"],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
    ],
  },
});
