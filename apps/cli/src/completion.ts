/** Writes the scripts that complete command lines in a shell, from the definitions of the commands. */
import type { Command } from './command.ts'
import { describeOptions } from './help.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

interface Choice {
  word: string
  description: string
}

/** What can follow the words that were typed: " key create --name Site ", or " " at the beginning. */
interface Completion {
  /** A pattern of the words: texts, and `*` for any text. */
  pattern: readonly string[]
  choices: readonly Choice[]
  hasFiles: boolean
}

const any = '*'

/** The most specific patterns come first. */
function listCompletions(commands: readonly Command[]): Completion[] {
  const firstWords = Map.groupBy(commands, ({ name }) => name.split(' ')[0] ?? '')
  const groups = [...firstWords].map(([word, members]) => ({
    word,
    // None for a command of one word.
    choices: members
      .filter(({ name }) => name !== word)
      .map(({ name, summary }) => ({ word: name.slice(word.length + 1), description: summary })),
    summary: members.find(({ name }) => name === word)?.summary,
  }))
  const top = groups.map(({ word, choices, summary }) => ({
    word,
    description: summary ?? choices.map((choice) => choice.word).join(', '),
  }))
  const general = [
    { word: '--help', description: 'Shows the commands' },
    { word: '--version', description: 'Shows the version' },
  ]
  return [
    ...commands.flatMap(completeCommand),
    ...groups
      .filter(({ choices }) => choices.length > 0)
      .map(({ word, choices }) => ({ pattern: [` ${word} `], choices, hasFiles: false })),
    { pattern: [' '], choices: [...top, ...general], hasFiles: false },
  ]
}

function completeCommand(command: Command): Completion[] {
  const described = describeOptions(command)
  const options = described.filter(({ isPositional }) => !isPositional)
  const toChoices = (values: readonly string[]) => values.map((word) => ({ word, description: '' }))
  const isFile = (placeholder: string | undefined) => placeholder === '<file>' || placeholder === '<folder>'
  const help = { word: '--help', description: 'Shows the help of the command' }
  return [
    ...options
      .filter(({ placeholder }) => placeholder !== undefined)
      .map(({ name, values, placeholder }) => ({
        pattern: [` ${command.name} `, any, `--${name} `],
        choices: toChoices(values),
        hasFiles: isFile(placeholder),
      })),
    {
      pattern: [` ${command.name} `, any],
      choices: [
        ...described.filter(({ isPositional }) => isPositional).flatMap(({ values }) => toChoices(values)),
        ...options.map(({ name, description }) => ({ word: `--${name}`, description })),
        help,
      ],
      hasFiles: described.some(({ isPositional, placeholder }) => isPositional && isFile(placeholder)),
    },
  ]
}

/** Returns the script for a shell. It contains all words, so that completing starts no process. */
export function formatCompletion(shell: Shell, commands: readonly Command[]): string {
  return formats[shell](listCompletions(commands))
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const formatPattern = ({ pattern }: Completion) => pattern.map((part) => (part === any ? any : quote(part))).join('')

const formats: Record<Shell, (completions: readonly Completion[]) => string> = { bash, zsh, fish }

function bash(completions: readonly Completion[]): string {
  const cases = completions.map(
    (one) =>
      `    ${formatPattern(one)}) words=${quote(one.choices.map(({ word }) => word).join(' '))}${one.hasFiles ? ' files=yes' : ''} ;;`,
  )
  return `# Completion of "rapport" for bash. To use it: source <(rapport completion bash)
_rapport() {
  local current="\${COMP_WORDS[COMP_CWORD]}" typed=" \${COMP_WORDS[*]:1:COMP_CWORD-1} " words='' files=''
  case "\${typed/#  / }" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files && $current != -* ]]; then
    local IFS=$'\\n'
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _rapport rapport`
}

function zsh(completions: readonly Completion[]): string {
  const format = ({ word, description }: Choice) =>
    quote(description === '' ? word : `${word}:${description.replaceAll(':', '\\:')}`)
  const cases = completions.map(
    (one) =>
      `    (${formatPattern(one)}) choices=(${one.choices.map(format).join(' ')})${one.hasFiles ? ' files=yes' : ''} ;;`,
  )
  return `#compdef rapport
# Completion of "rapport" for zsh. To use it: source <(rapport completion zsh), after compinit
_rapport() {
  local -a choices
  local typed=" \${(j: :)words[2,CURRENT-1]} " files=''
  case "\${typed/#  / }" in
${cases.join('\n')}
  esac
  _describe 'rapport' choices
  [[ -z $files ]] || _files
}
if [[ $funcstack[1] == _rapport ]]; then _rapport; else compdef _rapport rapport; fi`
}

function fish(completions: readonly Completion[]): string {
  const cases = completions.map((one) => {
    const words = one.choices.map(({ word, description }) => `${quote(word)} ${quote(description)}`)
    return [
      // A quoted wildcard is one for "case", and no file name.
      `    case ${quote(one.pattern.join(''))}`,
      ...(words.length > 0 ? [`      printf '%s\\t%s\\n' ${words.join(' ')}`] : []),
      ...(one.hasFiles ? ['      __fish_complete_path (commandline --current-token)'] : []),
    ].join('\n')
  })
  return `# Completion of "rapport" for fish. To use it: rapport completion fish | source
function __rapport_complete
  set --local tokens (commandline --tokenize --cut-at-cursor --current-process)
  set --erase tokens[1]
  switch (string replace --regex '^  ' ' ' -- " $tokens ")
${cases.join('\n')}
  end
end
complete --command rapport --no-files --arguments '(__rapport_complete)'`
}
