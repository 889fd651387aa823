using System.Globalization;
using System.Text;
using ProtoRpc.Schema;

namespace ProtoRpc.Tool;

/// <summary>Services, methods, messages and enums as a .proto would write them, for people to read.</summary>
internal static class ProtoText
{
    private const string Indent = "  ";

    public static string SignatureOf(RpcMethodInfo method) =>
        $"rpc {method.Name} ({StreamOf(method.IsClientStreaming)}{method.RequestType.FullName}) "
        + $"returns ({StreamOf(method.IsServerStreaming)}{method.ReplyType.FullName});";

    public static string Of(RpcServiceInfo service)
    {
        StringBuilder text = new();
        Comment(text, "", service.Comment);
        Line(text, "", $"// {service.FullName}, interface id {service.InterfaceId}");
        Line(text, "", $"service {service.Name} {{");
        foreach (RpcMethodInfo method in service.Methods)
        {
            Comment(text, Indent, method.Comment);
            Line(text, Indent, SignatureOf(method));
        }

        return text.Append('}').ToString();
    }

    /// <summary>The method, then its request and reply.</summary>
    public static string Of(RpcMethodInfo method)
    {
        StringBuilder text = new();
        Comment(text, "", method.Comment);
        Line(text, "", $"// {method.FullName}");
        Line(text, "", SignatureOf(method));
        Line(text, "", "");
        text.Append(Of(method.RequestType));
        if (method.ReplyType.FullName != method.RequestType.FullName)
        {
            Line(text, "", "");
            Line(text, "", "");
            text.Append(Of(method.ReplyType));
        }

        return text.ToString();
    }

    public static string Of(RpcMessageInfo message)
    {
        StringBuilder text = new();
        Comment(text, "", message.Comment);
        Line(text, "", $"// {message.FullName}");
        Line(text, "", $"message {message.Name} {{");
        HashSet<string> written = [];
        foreach (RpcFieldInfo field in message.Fields)
        {
            if (field.Oneof is null)
            {
                Field(text, Indent, field);
            }
            else if (written.Add(field.Oneof.Name))
            {
                Oneof(text, field.Oneof);
            }
        }

        Line(text, "", "}");
        if (message.Extensions.Count > 0)
        {
            Line(text, "", $"extend {message.Name} {{");
            foreach (RpcFieldInfo extension in message.Extensions)
            {
                Field(text, Indent, extension);
            }

            Line(text, "", "}");
        }

        return text.ToString().TrimEnd();
    }

    public static string Of(RpcEnumInfo type)
    {
        StringBuilder text = new();
        Comment(text, "", type.Comment);
        Line(text, "", $"// {type.FullName}{(type.IsClosed ? ", closed" : "")}");
        Line(text, "", $"enum {type.Name} {{");
        foreach ((string name, int number) in type.Values)
        {
            Line(text, Indent, string.Create(CultureInfo.InvariantCulture, $"{name} = {number};"));
        }

        return text.Append('}').ToString();
    }

    private static void Oneof(StringBuilder text, RpcOneofInfo oneof)
    {
        Line(text, Indent, $"oneof {oneof.Name} {{");
        foreach (RpcFieldInfo field in oneof.Fields)
        {
            Field(text, Indent + Indent, field);
        }

        Line(text, Indent, "}");
    }

    private static void Field(StringBuilder text, string indent, RpcFieldInfo field)
    {
        string label = field switch
        {
            { IsMap: true } => "",
            { IsRepeated: true } => "repeated ",
            { IsRequired: true } => "required ",
            { Oneof: null, HasPresence: true, MessageType: null } => "optional ",
            _ => "",
        };
        string initial = HasOwnDefault(field) ? $" [default = {Literal(field)}]" : "";
        Comment(text, indent, field.Comment);
        Line(text, indent, string.Create(
            CultureInfo.InvariantCulture, $"{label}{field.TypeName} {field.Name} = {field.Number}{initial};"));
    }

    // Only a default that is not the type's own zero says something.
    private static bool HasOwnDefault(RpcFieldInfo field) => field.DefaultValue switch
    {
        null or "" or false or byte[] { Length: 0 } => false,
        int number when field.EnumType is { } type => type.Values.Count > 0 && number != type.Values[0].Value,
        object value => Convert.ToString(value, CultureInfo.InvariantCulture) != "0",
    };

    private static string Literal(RpcFieldInfo field) => field.DefaultValue switch
    {
        string value => $"\"{value.Replace("\\", "\\\\").Replace("\"", "\\\"")}\"",
        byte[] bytes => $"\"{string.Concat(bytes.Select(b => b is >= 32 and < 127 and not (byte)'"' and not (byte)'\\'
            ? ((char)b).ToString()
            : $"\\x{b:x2}"))}\"",
        true => "true",
        int number when field.EnumType?.FindName(number) is string name => name,
        object value => Convert.ToString(value, CultureInfo.InvariantCulture) ?? "",
        null => "",
    };

    private static string StreamOf(bool isStream) => isStream ? "stream " : "";

    private static void Comment(StringBuilder text, string indent, string comment)
    {
        foreach (string line in comment.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
        {
            Line(text, indent, $"// {line}");
        }
    }

    private static void Line(StringBuilder text, string indent, string line) => text.Append(indent).Append(line).Append('\n');
}
