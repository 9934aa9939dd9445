import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { inject } from 'vitest'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'

/** Why there is no browser on this machine, for `describe.skipIf`; undefined where there is one, or should be. */
export function findBrowserSkipReason(): string | undefined {
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

/** What is a page's own affair, and not that of a mail, which a mail program shows within its page. */
const pageRules = ['region', 'landmark-one-main']
const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

/**
 * What axe has against the page as it is now, one line for each rule and element: `[]` is what a test wants. The page's
 * context needs `bypassCSP`, as a strict policy keeps the checker out too.
 */
export async function findAccessibilityProblems(page: Page, shown: 'page' | 'mail' = 'page'): Promise<string[]> {
  await page.evaluate(await axeSource())
  const rules = Object.fromEntries((shown === 'mail' ? pageRules : []).map((rule) => [rule, { enabled: false }]))
  const options = { runOnly: axeRules, resultTypes: ['violations'], rules }
  const run = `axe.run(${JSON.stringify(options)})`
  const { violations } = await page.evaluate<AxeResults>(run)
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, html, failureSummary = '' }) => {
      const advice = failureSummary.replace(/\s+/g, ' ')
      return `${id} (${impact}): ${help}. ${target.flat().join(' ')} ${html.slice(0, 200)} ${advice}`
    }),
  )
}

const widths = [360, 1280]
const colorSchemes = ['light', 'dark'] as const
/** Of the narrowest screens that there are, and of a page that is magnified four times (WCAG 1.4.10). */
const narrowestPx = 320

/**
 * What is wrong with the page as it is now on a phone and on a desk, light and dark: what axe has against it, and
 * whether it must be scrolled sideways. `[]` is what a test wants. With RAPPORT_SCREENSHOTS set to a folder, keeps there
 * what it saw, under this name.
 */
export async function checkAppearance(page: Page, name: string, shown: 'page' | 'mail' = 'page'): Promise<string[]> {
  const found: string[] = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of colorSchemes) {
      await page.emulateMedia({ colorScheme })
      const problems = await findAccessibilityProblems(page, shown)
      found.push(...problems.map((problem) => `${name}, ${width} px, ${colorScheme}: ${problem}`))
      await keepScreenshot(page, `${name}, ${width} px, ${colorScheme}`)
    }
  }
  await page.setViewportSize({ width: narrowestPx, height: 800 })
  const contentPx = await page.evaluate<number>('document.documentElement.scrollWidth')
  if (contentPx > narrowestPx) found.push(`${name}: ${contentPx} px of content on a screen of ${narrowestPx} px`)
  return found
}

async function keepScreenshot(page: Page, name: string): Promise<void> {
  const folder = inheritedEnvironment()['RAPPORT_SCREENSHOTS']
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, '-')}.png`), fullPage: true })
}

let source: Promise<string> | undefined
function axeSource(): Promise<string> {
  return (source ??= readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'))
}
