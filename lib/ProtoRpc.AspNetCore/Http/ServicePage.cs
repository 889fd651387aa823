using System.Net;
using System.Security.Cryptography;
using System.Text;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>The page that a browser sees: services, methods, message shapes,
/// and a form to try a method.</summary>
internal sealed class ServicePage(IReadOnlyList<ServerService> services)
{
    private const string Style = """
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
          padding: 0 1rem; color: #222 }
        h1 { font-size: 1.6rem }
        h2 { font-size: 1.2rem; margin-top: 2.5rem }
        h3 { font-size: 1rem; margin: 1.5rem 0 .3rem }
        pre, textarea, output { font: 13px/1.4 ui-monospace, monospace; background: #f5f6f8;
          border: 1px solid #d5d8dd; border-radius: 4px; padding: .6rem; box-sizing: border-box;
          width: 100%; overflow: auto; white-space: pre-wrap }
        textarea { height: 9rem; resize: vertical }
        output { display: block; min-height: 2.2rem }
        output.bad { border-color: #c33 }
        button { margin: .4rem 0; padding: .3rem 1.2rem } p { margin: .3rem 0 } .quiet { color: #667 }
        """;

    private const string Script = """
        for (const form of document.forms) {
          form.addEventListener('submit', async event => {
            event.preventDefault();
            const output = form.querySelector('output');
            output.textContent = '...';
            try {
              const reply = await fetch(form.dataset.path, {
                method: 'POST',
                headers: { 'Content-Type': 'application/json', 'Accept': 'application/json' },
                body: form.querySelector('textarea').value
              });
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
    private Text? _last;

    /// <summary>Lets the browser run what is on the page and nothing else,
    /// and no other page show it.</summary>
    public static string ContentSecurityPolicy { get; } =
        $"default-src 'none'; script-src '{HashOf(Script)}'; style-src '{HashOf(Style)}'; "
        + "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

    /// <summary>The page for a client to whom the paths of the methods begin with a base. It is the same from
    /// request to request, and so only the last one is kept.</summary>
    public string TextAt(string basePath)
    {
        Text? text = _last;
        if (text?.BasePath != basePath)
        {
            _last = text = new Text(basePath, Make(_services, basePath.TrimEnd('/')));
        }

        return text.Html;
    }

    private static string HashOf(string text) =>
        $"sha256-{Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(text)))}";

    private static string Make(IReadOnlyList<RpcServiceInfo> services, string basePath)
    {
        StringBuilder html = new();
        html.Append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .Append("<meta name=\"viewport\" content=\"width=device-width\">\n<title>")
            .Append(Escape(string.Join(", ", services.Select(service => service.FullName))))
            .Append($"</title>\n<style>{Style}</style>\n</head>\n<body>\n<h1>Services</h1>\n");
        foreach (RpcServiceInfo service in services)
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

    private static void AddMethod(StringBuilder html, RpcMethodInfo method, string basePath)
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
                .Append($"<button>Call {Escape(method.Name)}</button>\n")
                .Append("<output></output>\n</form>\n");
        }
    }

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
            // A type of which no example is whole, as with an Any in it; the form works all the same.
            return "{}";
        }
    }

    private static string Comment(string comment) => comment.Length == 0 ? "" : $"<p>{Escape(comment)}</p>\n";

    private static string Escape(string text) => WebUtility.HtmlEncode(text);

    private sealed record Text(string BasePath, string Html);
}
