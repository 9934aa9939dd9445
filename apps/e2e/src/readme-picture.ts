/**
 * Makes docs/rapport.png, the picture of the README, of the records of `rapport demo`: the hosted form, the mail inbox
 * and the queue dashboard beside each other. Run it with `pnpm readme:picture` after a change of these pages.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { findLocalInstance, type LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import { findBrowser } from '@rapport/testing/browser/browser-binary.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { type Browser, chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '../../..')
const pictureFile = join(root, 'docs/rapport.png')
const viewport = { width: 760, height: 720 }
const directory = await mkdtemp(join(tmpdir(), 'rapport-picture-'))
// Nothing else of the shell: its DATABASE_URL or SMTP_URL could name a real database or mail server.
const { PATH, HOME } = inheritedEnvironment()
const environment = { PATH, HOME, DATA_DIR: directory }
const start = spawn(process.execPath, [join(root, 'apps/local/src/main.ts')], { env: environment, stdio: 'inherit' })
const ended = new Promise((resolveEnd) => start.once('exit', resolveEnd))
try {
  const instance = await waitUntil(() => findLocalInstance(environment), {
    describe: 'Rapport runs',
    timeoutMs: 60_000,
  })
  const formUrl = await createDemo()
  const executablePath = await findBrowser()
  if (executablePath === undefined) throw new Error('Chromium or Chrome is not installed')
  const browser = await chromium.launch({ executablePath })
  await takePicture(browser, instance, formUrl)
  await browser.close()
} finally {
  start.kill('SIGTERM')
  await ended
  await rm(directory, { recursive: true })
}

/** Creates the sample records and returns the address of the hosted form. */
async function createDemo(): Promise<string> {
  const { stdout } = await promisify(execFile)(join(root, 'bin/rapport'), ['demo', '--json'], { env: environment })
  return (JSON.parse(stdout) as { formUrl: string }).formUrl
}

async function takePicture(browser: Browser, instance: LocalInstance, formUrl: string): Promise<void> {
  const { dashboardPassword } = JSON.parse(await readFile(join(directory, 'local.json'), 'utf8')) as {
    dashboardPassword: string
  }
  const httpCredentials = { username: 'admin', password: dashboardPassword }
  const context = await browser.newContext({ viewport, deviceScaleFactor: 1.5, httpCredentials })
  const pages = [
    ['The hosted form', formUrl],
    ['The inbox of "pnpm start"', instance.inboxUrl ?? ''],
    ['The queue dashboard', `${instance.apiUrl}/queues`],
  ]
  const figures: string[] = []
  for (const [caption, url = ''] of pages) {
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'networkidle' })
    // In the inbox, the newest mail.
    if (url === instance.inboxUrl) await page.locator('nav a').first().click()
    await page.waitForLoadState('networkidle')
    const image = (await page.screenshot()).toString('base64')
    figures.push(`<figure><img src="data:image/png;base64,${image}"><figcaption>${caption}</figcaption></figure>`)
    await page.close()
  }
  const page = await browser.newPage({ viewport: { width: 1_560, height: 540 } })
  await page.setContent(`<style>
    body { margin: 0; padding: 24px; display: flex; gap: 24px; background: #eef1f5; font: 600 16px system-ui, sans-serif }
    figure { flex: 1; margin: 0 } img { width: 100%; border-radius: 8px; box-shadow: 0 4px 18px #0003 }
    figcaption { margin-top: 10px; text-align: center; color: #444c56 }
  </style>${figures.join('')}`)
  await page.screenshot({ path: pictureFile, fullPage: true })
}
