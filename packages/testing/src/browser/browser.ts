import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import { chromium, type Browser, type Page } from 'playwright-core'
import { inject } from 'vitest'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { isFullRun } from '../runs.ts'

/** The reason to skip browser tests, for `describe.skipIf`; undefined if a browser is, or should be, available. */
export function findBrowserSkipReason(): string | undefined {
  const found = inject('testBrowser')
  return 'missing' in found ? found.missing : undefined
}

/** Launches a headless browser. A test must close it: a process left running fails the test file. */
export function launchBrowser(): Promise<Browser> {
  const found = inject('testBrowser')
  if (!('path' in found)) throw new Error('missing' in found ? found.missing : found.failed)
  // Playwright adds its own defaults, including --no-sandbox, which Chromium requires when run as root.
  return chromium.launch({ executablePath: found.path, args: ['--disable-gpu', '--disable-quic'] })
}

/** Rules for whole pages. A mail is exempt, as a mail program shows it within its own page. */
const pageRules = ['region', 'landmark-one-main']
const axeRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice']

/** What depends on the width of the screen or on the colors. No page hides anything at a width. */
const appearanceRules = [
  'color-contrast',
  'css-orientation-lock',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
]

interface AxeOptions {
  shown?: 'page' | 'mail'
  /** Runs only the rules that depend on the appearance, if the others have been run on the same content. */
  isOnlyAppearance?: boolean
}

/**
 * Runs axe on the page. Returns one line per violated rule and element. The browser context needs `bypassCSP`, as a
 * strict policy would block axe too.
 */
export async function findAccessibilityProblems(
  page: Page,
  { shown = 'page', isOnlyAppearance = false }: AxeOptions = {},
): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(await axeSource())
  const rules = Object.fromEntries((shown === 'mail' ? pageRules : []).map((rule) => [rule, { enabled: false }]))
  const runOnly = isOnlyAppearance ? { type: 'rule', values: appearanceRules } : { type: 'tag', values: axeRules }
  const options = { runOnly, resultTypes: ['violations'], rules }
  const run = `axe.run(${JSON.stringify(options)})`
  const { violations } = await page.evaluate<AxeResults>(run)
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, html, failureSummary = '' }) => {
      const advice = failureSummary.replace(/\s+/g, ' ')
      return `${id} (${impact}): ${help}. ${target.flat().join(' ')} ${html.slice(0, 200)} ${advice}`
    }),
  )
}

/** Each width and each color scheme; in a full run, each width with each color scheme. */
const appearances = [
  { width: 360, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  ...(isFullRun
    ? ([
        { width: 360, colorScheme: 'dark' },
        { width: 1280, colorScheme: 'light' },
      ] as const)
    : []),
] as const
/** The width of the narrowest phones, and of a page at 400 % zoom (WCAG 1.4.10). */
const narrowestPx = 320

/**
 * Checks the page at phone and desktop width, in light and dark mode, for accessibility problems and horizontal
 * scrolling. Returns one line per problem. Saves screenshots as `name` if RAPPORT_SCREENSHOTS is set to a folder.
 */
export async function checkAppearance(page: Page, name: string, shown: 'page' | 'mail' = 'page'): Promise<string[]> {
  const found: string[] = []
  for (const [index, { width, colorScheme }] of appearances.entries()) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    const problems = await findAccessibilityProblems(page, { shown, isOnlyAppearance: index > 0 })
    found.push(...problems.map((problem) => `${name}, ${width} px, ${colorScheme}: ${problem}`))
    await saveScreenshot(page, `${name}, ${width} px, ${colorScheme}`)
  }
  await page.setViewportSize({ width: narrowestPx, height: 800 })
  const contentPx = await page.evaluate<number>('document.documentElement.scrollWidth')
  if (contentPx > narrowestPx)
    found.push(`${name}: the content is ${contentPx} px wide on a screen of ${narrowestPx} px`)
  return found
}

async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = inheritedEnvironment()['RAPPORT_SCREENSHOTS']
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, '-')}.png`), fullPage: true })
}

let source: Promise<string> | undefined
function axeSource(): Promise<string> {
  return (source ??= readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'))
}
