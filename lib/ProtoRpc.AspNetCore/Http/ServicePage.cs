using System.Net;
using System.Security.Cryptography;
using System.Text;
using ProtoRpc.Protocols.Rest;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>The page that a browser sees: services, methods, message shapes,
/// and a form to try a method, at its own path or at that of an HTTP rule.</summary>
/// <param name="services">The services.</param>
/// <param name="rules">The HTTP rules of their methods.</param>
internal sealed class ServicePage(IReadOnlyList<ServerService> services, RestRoutes rules)
{
    // Light or dark colors, by the setting of the browser.
    private const string Style = """
        :root { color-scheme: light dark }
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
          padding: 0 1rem; color: light-dark(#222, #ddd); background: light-dark(#fff, #1b1d21) }
        h1 { font-size: 1.6rem }
        h2 { font-size: 1.2rem; margin-top: 2.5rem }
        h3 { font-size: 1rem; margin: 1.5rem 0 .3rem }
        pre, textarea, output { font: 13px/1.4 ui-monospace, monospace; color: inherit;
          background: light-dark(#f5f6f8, #25282e); border: 1px solid light-dark(#d5d8dd, #454a52);
          border-radius: 4px; padding: .6rem; box-sizing: border-box; width: 100%; overflow: auto;
          white-space: pre-wrap }
        textarea { height: 9rem; resize: vertical }
        output { display: block; min-height: 2.2rem }
        output.bad { border-color: light-dark(#c33, #f66) }
        button { margin: .4rem 0; padding: .3rem 1.2rem }
        select { max-width: 100% } p { margin: .3rem 0 } .quiet { color: light-dark(#667, #9aa0aa) }
        """;

    private const string Script = """
        const headers = { 'Content-Type': 'application/json', 'Accept': 'application/json' };
        function ruled(rule, message) {
          const take = path => {
            const names = path.split('.'), last = names.pop();
            const holder = names.reduce((at, name) => at?.[name], message), value = holder?.[last];
            if (holder) delete holder[last];
            return value;
          };
          const coded = (text, parts) =>
            (/[/]|[*]{2}/.test(parts) ? text.split('/') : [text]).map(encodeURIComponent).join('/');
          let address = rule.path.replace(/{([^=}]+)=([^}]+)}|[*]+/g, (_, name, parts) =>
            name ? coded(String(take(name) ?? ''), parts) : '-');
          const whole = rule.body === '*';
          const body = whole ? message : rule.body ? take(rule.body) ?? null : undefined;
          const query = new URLSearchParams();
          const add = (before, fields) => Object.entries(fields).forEach(([name, value]) => {
            if (Array.isArray(value)) value.forEach(one => query.append(before + name, one));
            else if (value && typeof value === 'object') add(before + name + '.', value);
            else if (value) query.append(before + name, value);
          });
          if (!whole) add('', message);
          if (query.size) address += '?' + query;
          return [address, { method: rule.method, headers, body: JSON.stringify(body) }];
        }
        for (const form of document.forms) {
          form.addEventListener('submit', async event => {
            event.preventDefault();
            const output = form.querySelector('output');
            output.textContent = '...';
            try {
              const body = form.querySelector('textarea').value;
              const rule = form.querySelector('select')?.selectedOptions[0].dataset;
              const reply = await fetch(...rule?.path
                ? ruled(rule, JSON.parse(body))
                : [form.dataset.path, { method: 'POST', headers, body }]);
              const text = await reply.text();
              output.className = reply.ok ? '' : 'bad';
              try { output.textContent = JSON.stringify(JSON.parse(text), null, 2); }
              catch { output.textContent = (reply.ok ? '' : reply.status + ' ') + text; }
            } catch (error) {
              output.className = 'bad';
              output.textContent = error.message;
            }
          });
        }
        """;

    private readonly RpcServiceInfo[] _services = [.. services.Select(service => service.Info)];
    private readonly ILookup<string, RestBinding> _rules =
        rules.Bindings.ToLookup(binding => binding.Method.FullName);
    private Text? _last;

    /// <summary>Allows the browser to run only the page's own content, and forbids other pages to embed
    /// it.</summary>
    public static string ContentSecurityPolicy { get; } =
        $"default-src 'none'; script-src '{HashOf(Script)}'; style-src '{HashOf(Style)}'; "
        + "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

    /// <summary>The page for a client whose paths begin with a base. The last page is cached, because the
    /// base rarely differs between requests.</summary>
    public string TextAt(string basePath)
    {
        Text? text = _last;
        if (text?.BasePath != basePath)
        {
            _last = text = new Text(basePath, Make(basePath.TrimEnd('/')));
        }

        return text.Html;
    }

    private static string HashOf(string text) =>
        $"sha256-{Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(text)))}";

    private string Make(string basePath)
    {
        StringBuilder html = new();
        html.Append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .Append("<meta name=\"viewport\" content=\"width=device-width\">\n<title>")
            .Append(Escape(string.Join(", ", _services.Select(service => service.FullName))))
            .Append($"</title>\n<style>{Style}</style>\n</head>\n<body>\n<h1>Services</h1>\n");
        foreach (RpcServiceInfo service in _services)
        {
            string file = Escape(service.File.Name);
            html.Append($"<h2>{Escape(service.FullName)}</h2>\n{Comment(service.Comment)}")
                .Append($"<p><a href=\"{Escape($"{basePath}/{service.File.Name}")}\">{file}</a></p>\n");
            foreach (RpcMethodInfo method in service.Methods)
            {
                AddMethod(html, method, basePath);
            }
        }

        return html.Append($"<script>{Script}</script>\n</body>\n</html>\n").ToString();
    }

    private void AddMethod(StringBuilder html, RpcMethodInfo method, string basePath)
    {
        string request = (method.IsClientStreaming ? "stream " : "") + method.RequestType.FullName;
        string reply = (method.IsServerStreaming ? "stream " : "") + method.ReplyType.FullName;
        html.Append($"<h3 id=\"{Escape(method.FullName)}\">{Escape(method.Name)}</h3>\n")
            .Append(Comment(method.Comment))
            .Append($"<p class=\"quiet\">{Escape(request)} &rarr; {Escape(reply)}</p>\n")
            .Append("<details><summary>Messages</summary>\n<pre>")
            .Append(Escape(method.RequestType.ToProtoText()));
        if (method.ReplyType != method.RequestType)
        {
            html.Append('\n').Append(Escape(method.ReplyType.ToProtoText()));
        }

        html.Append("</pre>\n</details>\n");
        if (!method.IsClientStreaming)
        {
            string path = $"{basePath}/{method.Service.FullName}/{method.Name}";
            html.Append($"<form data-path=\"{Escape(path)}\">\n")
                .Append("<textarea aria-label=\"Request\" spellcheck=\"false\">")
                .Append($"{Escape(Example(method.RequestType))}</textarea>\n")
                .Append(RulesOf(method, path, basePath))
                .Append($"<button>Call {Escape(method.Name)}</button>\n")
                .Append("<output></output>\n</form>\n");
        }
    }

    // The method's own path, and the paths of its HTTP rules.
    private string RulesOf(RpcMethodInfo method, string path, string basePath)
    {
        RestBinding[] bindings = [.. _rules[method.FullName]];
        if (bindings.Length == 0)
        {
            return "";
        }

        StringBuilder html = new("<select aria-label=\"Path\">\n");
        foreach (RestBinding binding in bindings)
        {
            string http = binding.HttpMethod == RestBinding.AnyMethod ? "POST" : binding.HttpMethod;
            string body = binding.IsBodyWhole ? "*" : binding.BodyField?.JsonKey ?? "";
            html.Append($"<option data-method=\"{Escape(http)}\" data-body=\"{Escape(body)}\" ")
                .Append($"data-path=\"{Escape(basePath + WithJsonNames(binding))}\">")
                .Append($"{Escape($"{http} {basePath}{binding.Template}")}</option>\n");
        }

        return html.Append($"<option>POST {Escape(path)}</option>\n</select>\n").ToString();
    }

    // The template with the JSON names of fields, and with the segments of each variable.
    private static string WithJsonNames(RestBinding binding)
    {
        RestTemplate template = binding.Template;
        StringBuilder path = new();
        for (int i = 0, next = 0; i < template.Segments.Count; i++)
        {
            path.Append('/');
            if (next == template.Variables.Count || template.Variables[next].Start != i)
            {
                path.Append(TextOf(template.Segments[i]));
                continue;
            }

            RestVariable variable = template.Variables[next];
            IEnumerable<string> parts =
                template.Segments.Take(variable.End).Skip(variable.Start).Select(TextOf);
            path.Append('{')
                .AppendJoin('.', binding.Fields[next++].Select(field => field.JsonKey))
                .Append('=').AppendJoin('/', parts).Append('}');
            i = variable.End - 1;
        }

        path.Append(path.Length == 0 ? "/" : "");
        return template.Verb is null ? path.ToString() : $"{path}:{Uri.EscapeDataString(template.Verb)}";
    }

    private static string TextOf(RestSegment segment) => segment.Kind switch
    {
        RestSegmentKind.Any => "*",
        RestSegmentKind.Deep => "**",
        _ => Uri.EscapeDataString(segment.Literal),
    };

    private static string Example(RpcMessageInfo type)
    {
        try
        {
            MessageMapper mapper = new(PlainObjectModel.Instance);
            return MessageFormats.Json.ToText(
                mapper.ToMessage(type, mapper.Template(type)),
                new FormatOptions { Indented = true, IncludeDefaults = true, Schema = type.Schema });
        }
        catch (RpcException)
        {
            // No complete example exists for the type, for example because it contains an Any. The form still
            // works.
            return "{}";
        }
    }

    private static string Comment(string comment) => comment.Length == 0 ? "" : $"<p>{Escape(comment)}</p>\n";

    private static string Escape(string text) => WebUtility.HtmlEncode(text);

    private sealed record Text(string BasePath, string Html);
}
