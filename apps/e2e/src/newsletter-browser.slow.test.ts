import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import { startProcess, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { consentWording, createForm, createList } from './public-form.ts'
import { startSite } from './test-site.ts'
import { type Api, createApi } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('the local installation in a browser', () => {
  let directory: string
  let start: StartedProcess
  let inboxUrl: string
  let username: string
  let password: string
  let api: Api
  let key: string
  let browser: Browser
  let context: BrowserContext
  let page: Page
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'rapport-newsletter-'))
    start = await startProcess({
      script: 'apps/local/src/main.ts',
      env: { DATA_DIR: directory, PORT: '0' },
      readyPattern: /API +(http\S+)[^]*user (\S+), password (\S+)[^]*Inbox +(http\S+)[^]*API key +(rpk_\S+)[^]*Ctrl-C/,
      timeoutMs: 60_000,
    })
    let apiUrl: string
    ;[, apiUrl = '', username = '', password = '', inboxUrl = '', key = ''] = start.ready ?? []
    api = createApi(apiUrl)
    browser = await launchBrowser()
    context = await browser.newContext({ httpCredentials: { username, password } })
    page = await context.newPage()
  })
  afterAll(async () => {
    await browser.close()
    start.kill('SIGTERM')
    await start.exited
    rmSync(directory, { recursive: true })
  })

  test('a visitor subscribes by a form, confirms, gets a newsletter and unsubscribes', async () => {
    const list = await createList(api, key)
    const form = await createForm(api, key, { listId: list.id })
    await page.goto(`${api.url}/f/${form.id}`)
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Your message').fill('Hello')
    await page.getByLabel(consentWording).check()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(form.successMessage).waitFor()
    expect(await statusOf('ada@example.com')).toBe('PENDING')

    const confirmPage = await followMail('Confirm your subscription to Monthly newsletter', 'Confirm subscription')
    expect(await statusOf('ada@example.com')).toBe('PENDING')
    await expectFramingBlocked(confirmPage.url())
    await confirmPage.getByRole('button', { name: 'Confirm subscription' }).click()
    await confirmPage.getByRole('heading', { name: 'You are subscribed' }).waitFor()
    expect(await statusOf('ada@example.com')).toBe('SUBSCRIBED')

    expect(await sendCampaign(list.id, 'First newsletter')).toBe(1)
    const unsubscribePage = await followMail('First newsletter', 'Unsubscribe')
    expect(await statusOf('ada@example.com')).toBe('SUBSCRIBED')
    await expectFramingBlocked(unsubscribePage.url())
    await unsubscribePage.getByRole('button', { name: 'Unsubscribe' }).click()
    await unsubscribePage.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    expect(await statusOf('ada@example.com')).toBe('UNSUBSCRIBED')

    const other = { email: 'grace@example.com', status: 'CONFIRMED' }
    expect((await api.call('POST', `/lists/${list.id}/subscribers`, { key, body: other })).status).toBe(201)
    expect(await sendCampaign(list.id, 'Second newsletter')).toBe(1)
    await page.goto(inboxUrl)
    const mails = page.getByRole('navigation').getByRole('link')
    await mails.filter({ hasText: 'Second newsletter' }).waitFor()
    expect(await mails.filter({ hasText: 'grace@example.com' }).count()).toBe(1)
    expect(await mails.filter({ hasText: 'ada@example.com' }).count()).toBe(2)
  })

  test('the inbox shows a mail that arrives while its page is being opened', async () => {
    const list = await createList(api, key)
    const [stored, opening] = [Promise.withResolvers<void>(), await context.newPage()]
    // The page is loaded, and its connection for changes is delayed.
    await opening.route('**/changes', async (route) => {
      await stored.promise
      await route.continue()
    })
    await opening.goto(`${inboxUrl}?to=mary@example.com`)
    await opening.getByText('No mail to mary@example.com yet.').waitFor()
    await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: 'mary@example.com' } })
    const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` }
    const isStored = async () =>
      (await api.call<object[]>('GET', `${inboxUrl}/email?to=mary@example.com`, { headers })).body.length > 0
    await waitUntil(isStored, { describe: 'the mail is stored' })
    stored.resolve()
    await opening.getByRole('link', { name: 'mary@example.com' }).waitFor()
    await opening.close()
  })

  /** Opens a mail in the inbox and clicks a link in it. */
  async function followMail(subject: string, link: string): Promise<Page> {
    await page.goto(inboxUrl)
    // The inbox shows new mails without a reload.
    await page.getByRole('link', { name: subject }).click()
    const opened = page.waitForEvent('popup')
    await page.frameLocator('iframe').getByRole('link', { name: link }).click()
    const followed = await opened
    await followed.waitForLoadState()
    return followed
  }

  /** Expects that another site cannot show the page in a frame, which would allow clickjacking. */
  async function expectFramingBlocked(url: string) {
    const site = await startSite({ '/': { body: `<iframe src="${url}"></iframe>` } })
    const framing = await browser.newPage()
    await framing.goto(site.url)
    expect(framing.frames().map((frame) => frame.url())).toEqual([`${site.url}/`, 'chrome-error://chromewebdata/'])
    await framing.close()
    await site.close()
  }

  /** Sends a campaign to the list and waits until it is SENT. Returns the number of queued recipients. */
  async function sendCampaign(listId: string, subject: string): Promise<number> {
    const created = await api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: subject, subject, listId, html: '<p>Here is the news.</p>' },
    })
    const sent = await api.call<{ queued: number }>('POST', `/campaigns/${created.body.id}/send`, { key })
    const read = () => api.call<{ status: string }>('GET', `/campaigns/${created.body.id}`, { key })
    await waitUntil(async () => (await read()).body.status === 'SENT', { describe: `${subject} is SENT` })
    return sent.body.queued
  }

  async function statusOf(email: string) {
    const found = await api.call<{ data: { emailSubscribedStatus: string }[] }>('GET', `/contacts?email=${email}`, {
      key,
    })
    return found.body.data[0]?.emailSubscribedStatus
  }
})
