/** Somebody else's website, and what a test watches of a page. */
import { startHttpReceiver, type HttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { Page } from 'playwright-core'

export interface Site {
  /** Another origin than Rapport's, and another site too, as browsers count. */
  url: string
  receiver: HttpReceiver
  close(): Promise<void>
}

interface SitePage {
  /** What stands in the body. */
  body: string
  style?: string
  headers?: Record<string, string>
}

interface SiteRedirect {
  location: string
}

/** Serves these pages by their paths; any other is a 404. */
export async function startSite(pages: Record<string, SitePage | SiteRedirect>): Promise<Site> {
  const receiver = await startHttpReceiver(({ url }) => {
    const page = pages[url]
    if (!page) return { status: 404 }
    if ('location' in page) return { status: 301, headers: { location: page.location } }
    const { body, style = '', headers } = page
    return { headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, body: document(body, style) }
  })
  return { url: `http://localhost:${receiver.port}`, receiver, close: () => receiver.close() }
}

function document(body: string, style: string) {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${style && `<style>${style}</style>`}</head><body>${body}</body></html>`
}

/** Whom the page has talked to, and what the browser had to complain of: errors in scripts, refusals by a policy. */
export function watchPage(page: Page): { origins: Set<string>; errors: string[] } {
  const [origins, errors] = [new Set<string>(), [] as string[]]
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    // That an answer was a 400 is how a mistake is found.
    if (message.type() === 'error' && !message.text().includes('status of 400')) errors.push(message.text())
  })
  return { origins, errors }
}

/** The control that has the focus, in a shadow tree too. */
export async function focusedId(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    let element = document.activeElement
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
    return element?.id
  })()`)
}
