/** Escapes what a terminal obeys and does not show: controls, but for tabs and line ends, and marks of direction. JSON stays JSON. */
export function escaped(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (mark) =>
    /[\t\n]/.test(mark)
      ? mark
      : mark.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
