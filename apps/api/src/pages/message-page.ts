import type { Branding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyReply } from 'fastify'
import { engine, sendDocument } from './document.ts'

const template = engine.parse(`<p>{{ text }}</p>
{%- if button %}
<form method="post"><button>{{ button }}</button></form>
{%- endif %}
{%- if redirectUrl %}
<p><a href="{{ redirectUrl }}">Continue</a></p>
{%- endif %}`)

interface Message {
  title: string
  text: string
  button?: string
  /** Where the page redirects to. It also has a link, for browsers that ignore the `refresh` header. */
  redirectUrl?: string
  branding?: Branding | undefined
  frameAncestors?: '*'
}

/** Sends a page with a message and an optional button, which posts to the URL of the page. Values are escaped. */
export function sendMessage(reply: FastifyReply, page: Message): FastifyReply {
  const { title, branding, frameAncestors, ...message } = page
  if (message.redirectUrl !== undefined) reply.header('refresh', `0; url=${message.redirectUrl}`)
  const content = String(engine.renderSync(template, message))
  return sendDocument(reply, { heading: title, content, branding, ...(frameAncestors && { frameAncestors }) })
}
