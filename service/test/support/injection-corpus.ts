/** What someone would type to make a text mean more than itself, one on each line. */
const aims = String.raw`
'
"
' or '1'='1
' or 1=1 --
') or ('1'='1
'; drop table parent_agents; --
'; update tenants set active = 0; --
' union select id, value from service_keys --
' and 1=(select 1 from pg_sleep(5)) --
' || sqlite_version() || '
$tag$' or 1=1$tag$
\'; drop table clients; --
1; pragma writable_schema = on
null
?
$1
:id
id desc; --
(select tenant_id)
rowid
%
_
\
\%
[a-z]%
*
(a+)+$
{"$ne":null}
"}],"filters":[{"column":"tenant
__proto__
constructor
hasOwnProperty
{{7*7}}
<script>alert(1)</script>
"><img src=x onerror=alert(1)>
' autofocus onfocus=alert(1) x='
&lt;b&gt;
javascript:alert(1)
../../etc/passwd
%252e%252e%252f
//evil.example/x
/\evil.example
https://evil.example/callback
https://app.demo.example@evil.example/callback
https://app.demo.example/callback#x
x, y
a; Domain=evil.example
&code=evil
#code=evil
a=b&c=d
+
%zz
%00
%0d%0aSet-Cookie:a=b
$(id)
%s%s%n
-1
1e999
9223372036854775808
NaN
ADA@DEMO.EXAMPLE%
"ada"@demo.example
`.trim()

/** What no line can hold, or no editor shows. */
const unseen = [
  ...['x\r\nSet-Cookie: a=b', '\r\n\r\n<html>', 'x\nX-Injected: 1', 'a@b\r\nBcc: c@d', '\u560a\u560dSet-Cookie: a=b'],
  ...['\u0000', "\u0000' or 1=1 --", '\ud800', "\udc00'", '\u200b', '\u202e\u0027', '\ufeff', '\u0001\u001b[31m'],
  ...['\uff07 or 1=1 --', '\u02bc or 1=1', '\u2028', '\u00a0', '\u0130', 'e\u0301', '\u{1f4a9}', '\u{10ffff}'],
]

/** Each aim, and some at the end of a text that is as long as a search may look for. */
export const injectionCorpus: readonly string[] = [
  ...[...aims.split('\n'), ...unseen].flatMap((aim, index) =>
    index % 8 === 0 ? [aim, `${'x'.repeat(240)} ${aim}`] : [aim],
  ),
]

/** Text that no database holds: NUL or half a surrogate pair. */
export function isUnstorable(text: string): boolean {
  return text.includes('\0') || /\p{Cs}/u.test(text)
}
