import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

// The Chromium that the variable names, or the system's; without either, Playwright's own.
const places = [
  process.env.AGENT_WIDGET_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = places.find((place) => place && existsSync(place));
const launchOptions = { args: ["--no-sandbox"], ...(executablePath ? { executablePath } : {}) };

const jsx = { jsx: { runtime: "automatic", importSource: "preact" } };

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
          include: ["preact", "preact/hooks", "preact/jsx-dev-runtime", "dompurify", "marked"],
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
