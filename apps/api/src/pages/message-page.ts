import type { FastifyReply } from 'fastify'
import { engine, sendDocument } from './document.ts'

const template = engine.parse(`<p>{{ text }}</p>
{%- if button %}
<form method="post"><button>{{ button }}</button></form>
{%- endif %}
{%- if goOnTo %}
<p><a href="{{ goOnTo }}">Continue</a></p>
{%- endif %}`)

interface Message {
  title: string
  text: string
  button?: string
  /** An address that the page leads on to by itself, or by a link where the browser does not. */
  goOnTo?: string
  frameAncestors?: '*'
}

/** A page with one thing to say and at most one button, which posts to the page's own address. Values are escaped. */
export function sendMessage(reply: FastifyReply, { title, frameAncestors, ...message }: Message): FastifyReply {
  if (message.goOnTo !== undefined) reply.header('refresh', `0; url=${message.goOnTo}`)
  const content = String(engine.renderSync(template, message))
  return sendDocument(reply, { heading: title, content, ...(frameAncestors && { frameAncestors }) })
}
