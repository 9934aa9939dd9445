import { findBrowser } from './browser-binary.ts'

/** `missing`: tests that need a browser are skipped. `failed`: the download of a browser failed, so they fail. */
export type TestBrowser = { path: string } | { missing: string } | { failed: string }

declare module 'vitest' {
  interface ProvidedContext {
    testBrowser: TestBrowser
  }
}

const missing =
  'Browser tests are skipped: neither Chromium nor Chrome is on the PATH. Install one, for example with ' +
  '"apt install chromium" or "brew install --cask google-chrome".'

/** Finds or downloads the browser of the tests. Its failure is a result, as other tests need none. */
export async function findTestBrowser(): Promise<TestBrowser> {
  const found = await findBrowser().then(
    (path): TestBrowser => (path === undefined ? { missing } : { path }),
    (error: unknown): TestBrowser => ({
      failed: `No browser: downloading the Debian package of Chromium failed. ${String(error)}`,
    }),
  )
  if ('missing' in found) console.log(found.missing)
  return found
}
