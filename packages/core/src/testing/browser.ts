import { readFile } from 'node:fs/promises'
import type { AxeResults } from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { inject } from 'vitest'

/** Why there is no browser on this machine, for `describe.skipIf`; undefined where there is one, or should be. */
export function whyNoBrowser(): string | undefined {
  const found = inject('testBrowser')
  return 'missing' in found ? found.missing : undefined
}

/** Without a window. Whoever forgets to close it fails their file, as it is a process that is left open. */
export function launchBrowser(): Promise<Browser> {
  const found = inject('testBrowser')
  if (!('path' in found)) throw new Error('missing' in found ? found.missing : found.failed)
  // Playwright adds what else a test wants, and --no-sandbox, without which root cannot run it.
  return chromium.launch({ executablePath: found.path, args: ['--disable-gpu', '--disable-quic'] })
}

const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

/**
 * What axe has against the page as it is now, one line for each rule and element: `[]` is what a test wants. The page's
 * context needs `bypassCSP`, as a strict policy keeps the checker out too.
 */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(await axeSource())
  const run = `axe.run({ runOnly: ${JSON.stringify(axeRules)}, resultTypes: ['violations'] })`
  const { violations } = await page.evaluate<AxeResults>(run)
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, html, failureSummary = '' }) => {
      const advice = failureSummary.replace(/\s+/g, ' ')
      return `${id} (${impact}): ${help}. ${target.flat().join(' ')} ${html.slice(0, 200)} ${advice}`
    }),
  )
}

let source: Promise<string> | undefined
function axeSource(): Promise<string> {
  return (source ??= readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'))
}
