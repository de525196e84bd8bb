import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import { trimmedPurifier } from "./trim.mjs";

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

// What takes a moment on an idle machine may take many times that where everything is tested at once.
const PATIENCE_MS = 20_000;

// What the tests hold against the sanitiser, they hold against the one that is built.
const purifierAsBuilt = {
  name: "purifier-as-built",
  transform: (code, id) => (/purify\.es\.mjs/.test(id) ? trimmedPurifier(code) : null),
};

export default defineConfig({
  test: {
    projects: [
      {
        oxc: jsx,
        test: {
          name: "unit",
          testTimeout: 3 * PATIENCE_MS,
          include: ["tests/unit/**/*.test.ts"],
          environment: "node",
        },
      },
      {
        oxc: jsx,
        plugins: [purifierAsBuilt],
        optimizeDeps: {
          include: ["preact", "preact/hooks", "preact/jsx-dev-runtime", "marked"],
          exclude: ["dompurify"],
        },
        test: {
          name: "browser",
          testTimeout: 3 * PATIENCE_MS,
          expect: { poll: { timeout: PATIENCE_MS } },
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
