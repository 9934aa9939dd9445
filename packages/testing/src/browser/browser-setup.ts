/** What Vitest runs once before the journeys: finds the browser that they use, so that no two files fetch it at once. */
import type { TestProject } from 'vitest/node'
import { findBrowser } from './browser-binary.ts'

/** `missing` skips the tests that need a browser, `failed` fails them: it could have been had. */
export type TestBrowser = { path: string } | { missing: string } | { failed: string }

declare module 'vitest' {
  interface ProvidedContext {
    testBrowser: TestBrowser
  }
}

const missing =
  'The tests in a browser are skipped: there is neither Chromium nor Chrome on the PATH. Install one, for example ' +
  'with "apt install chromium" or "brew install --cask google-chrome".'

export async function setup(project: TestProject): Promise<void> {
  const found = await findBrowser().then(
    (path): TestBrowser => (path === undefined ? { missing } : { path }),
    (error: unknown): TestBrowser => ({ failed: `No browser: fetching Debian's chromium failed. ${String(error)}` }),
  )
  if ('missing' in found) console.log(found.missing)
  project.provide('testBrowser', found)
}
