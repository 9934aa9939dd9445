/** The SDK in a page of another origin, without an API key. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPackage } from '@rapport/sdk/test/build-package.ts'
import { findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createForm, createList, readSubmissions } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('in a page of another origin, the SDK', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let site: HttpReceiver
  beforeAll(async () => {
    ;[stack, browser, site] = await Promise.all([startStack('postgres'), launchBrowser(), startSdkSite()])
    ;({ key } = await stack.api.createWorkspace())
    page = await browser.newPage()
    // On `localhost`, while the API runs on 127.0.0.1.
    await page.goto(`http://localhost:${site.port}`)
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
    await stack.close()
  })

  /** Runs the expression in the page, with a client that has no key. */
  const run = (expression: string) =>
    page.evaluate(`import('/sdk.js').then(async ({ Rapport, ValidationError }) => {
      const rapport = new Rapport({ baseUrl: '${stack.api.url}' })
      return ${expression}
    })`)

  test('subscribes a visitor to a list', async () => {
    const list = await createList(stack.api, key)
    await run(`await rapport.public.subscribe('${list.id}', { email: 'ada@example.com' })`)
    const path = `/lists/${list.id}/subscribers`
    const { body } = await stack.api.call<{ data: object[] }>('GET', path, { key })
    expect(body.data).toMatchObject([{ status: 'PENDING' }])
    await stack.inbox.waitFor(1)
  })

  test('reads a form and submits it', async () => {
    const form = await createForm(stack.api, key)
    expect(await run(`await rapport.public.getForm('${form.id}')`)).toMatchObject({ name: 'Visit us' })
    const values = { email: 'bob@example.com', message: 'Hello' }
    const submitted = await run(`await rapport.public.submitForm('${form.id}', { values: ${JSON.stringify(values)} })`)
    expect(submitted).toMatchObject({ success: true })
    expect(await readSubmissions(stack.api, key, form)).toMatchObject([{ values }])
  })

  test('reads errors: the issues, and the id of the request', async () => {
    const form = await createForm(stack.api, key)
    const submitting = `await rapport.public.submitForm('${form.id}', { values: {} }).catch((error) =>
      [error instanceof ValidationError, error.issues.map(({ path }) => path), error.requestId.length > 0])`
    expect(await run(submitting)).toEqual([true, ['email', 'message'], true])
  })

  test('has no access to operations that need a key', async () => {
    expect(await run(`await rapport.contacts.list({}, { maxRetries: 0 }).catch((error) => error.name)`)).toBe(
      'ConnectionError',
    )
  })
})

/** A website with an empty page and the built package. */
async function startSdkSite(): Promise<HttpReceiver> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-sdk-'))
  await buildPackage(folder)
  const code = await readFile(join(folder, 'dist/index.js'))
  await rm(folder, { recursive: true })
  return startHttpReceiver(({ url }) => {
    if (url === '/sdk.js') return { headers: { 'content-type': 'text/javascript' }, body: code }
    return { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>A site</title>' }
  })
}
