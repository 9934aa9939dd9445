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
  /** An address that the page leads on to by itself, or by a link where the browser does not. */
  redirectUrl?: string
  frameAncestors?: '*'
}

/** A page with one thing to say and at most one button, which posts to the page's own address. Values are escaped. */
export function sendMessage(reply: FastifyReply, { title, frameAncestors, ...message }: Message): FastifyReply {
  if (message.redirectUrl !== undefined) reply.header('refresh', `0; url=${message.redirectUrl}`)
  const content = String(engine.renderSync(template, message))
  return sendDocument(reply, { heading: title, content, ...(frameAncestors && { frameAncestors }) })
}
