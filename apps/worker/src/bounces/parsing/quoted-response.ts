const maxResponseLength = 1_000
const maxContextLength = 300

/** `550 5.1.1`, `550-5.1.1`, `550 User unknown`, `550 #5.1.0`; else `(#5.1.1)`; else `5.1.1` at the start of a line. */
const responseStarts = [
  /(?<![\d.:-])[45]\d\d(?:[ -]#?[45]\.\d{1,3}\.\d{1,3}\b|(?:: |[ -])(?!\d)\S)/,
  /#[45]\.\d{1,3}\.\d{1,3}\b/,
  /^[ \t]*[45]\.\d{1,3}\.\d{1,3}\b/m,
]

/**
 * The response of a server that a text for people quotes, with its further lines. Undefined if there is none. The command
 * that it answers follows in brackets, as Postfix writes it.
 */
export function findResponse(text: string): string | undefined {
  // In a transcript, `>>>` is what the server received.
  const answers = text.replace(/^[ \t>]*>>>.*$/gm, '').replace(/^[ \t]*<<< /gm, '')
  const found = responseStarts.map((pattern) => pattern.exec(answers)?.index)
  const start = found.find((index) => index !== undefined)
  if (start === undefined) return undefined
  const lineStart = answers.lastIndexOf('\n', start) + 1
  const lines = answers.slice(lineStart, start + maxResponseLength).split('\n')
  const end = lines.findIndex((line, at) => at > 0 && isOfAnother(line, lines[0] ?? ''))
  const response = lines
    .slice(0, end < 0 ? undefined : end)
    .join('\n')
    .trim()
  const command = findCommand(answers.slice(Math.max(0, lineStart - maxContextLength), lineStart))
  return command === undefined ? response : `${response} (in reply to ${command})`
}

const codeOf = (line: string) => /(?:^|[\s:])([245]\d\d)[ -]/.exec(line)?.[1]

/** An empty line, or one with another code, ends a response. */
function isOfAnother(line: string, first: string): boolean {
  if (line.trim() === '') return true
  const code = /^\s*([245]\d\d)[ -]/.exec(line)?.[1]
  return code !== undefined && code !== codeOf(first)
}

/** Exim and others name the command in the line before the response. */
const findCommand = (context: string) =>
  /\b(?:after|following|in (?:reply|response) to) (?:pipelined )?(?:end of )?(MAIL FROM|RCPT TO|DATA|EHLO|HELO)/i.exec(
    context.split(/\n[ \t]*\n/).at(-1) ?? '',
  )?.[1]
