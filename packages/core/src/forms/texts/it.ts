import type { FormTexts } from './en.ts'

export const it: FormTexts = {
  thanks: 'Grazie.',
  emptyBox: 'Seleziona questa casella.',
  empty: 'Compila questo campo.',
  line: (maxLength) => `Inserisci una sola riga di al massimo ${maxLength} caratteri.`,
  text: (maxLength) => `Inserisci al massimo ${maxLength} caratteri.`,
  email: 'Inserisci un indirizzo email, ad esempio ada@example.com.',
  phone: 'Inserisci un numero di telefono, ad esempio +44 20 7946 0958.',
  number: 'Inserisci un numero di al massimo 15 cifre.',
  date: 'Inserisci una data in questo formato: 2026-11-21.',
  option: 'Seleziona una delle opzioni.',
  box: 'Seleziona o deseleziona questa casella.',
  tooLarge: 'Accorcia le tue risposte. Insieme possono occupare al massimo 32 KiB.',
}
