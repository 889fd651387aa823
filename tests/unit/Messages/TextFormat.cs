using System.Collections;
using System.Globalization;
using System.Text;

namespace ProtoRpc.Tests.Messages;

/// <summary>Writes messages as the text that protoc --encode reads. It shares no code with the codec: it only
/// asks for values.</summary>
internal static class TextFormat
{
    public static string Of(DynamicMessage message)
    {
        StringBuilder text = new();
        Append(text, message);
        return text.ToString();
    }

    private static void Append(StringBuilder text, DynamicMessage message)
    {
        foreach (RpcFieldInfo field in message.Type.Fields.Concat(message.Type.Extensions).Where(message.Has))
        {
            object value = message.Get(field)!;
            if (field.IsMap)
            {
                foreach (DictionaryEntry entry in (IDictionary)value)
                {
                    text.Append(NameOf(field)).Append(" {\n");
                    AppendField(text, field.MessageType!.Fields[0], entry.Key);
                    AppendField(text, field.MessageType.Fields[1], entry.Value!);
                    text.Append("}\n");
                }
            }
            else if (field.IsRepeated)
            {
                foreach (object item in (IEnumerable)value)
                {
                    AppendField(text, field, item);
                }
            }
            else
            {
                AppendField(text, field, value);
            }
        }
    }

    private static void AppendField(StringBuilder text, RpcFieldInfo field, object value)
    {
        text.Append(NameOf(field));
        if (value is DynamicMessage child)
        {
            text.Append(" {\n");
            Append(text, child);
            text.Append("}\n");
            return;
        }
        text.Append(": ").Append(value switch
        {
            string s => Quoted(Encoding.UTF8.GetBytes(s)),
            byte[] b => Quoted(b),
            bool b => b ? "true" : "false",
            double d => double.IsFinite(d) ? d.ToString("R", CultureInfo.InvariantCulture) : Special(d),
            float f => float.IsFinite(f) ? f.ToString("R", CultureInfo.InvariantCulture) : Special(f),
            _ => Convert.ToString(value, CultureInfo.InvariantCulture),
        }).Append('\n');
    }

    // Groups have their type's name in text; a delimited field that is not like a group has its own.
    private static string NameOf(RpcFieldInfo field)
    {
        if (field.Kind != RpcFieldKind.Group)
        {
            return field.Name;
        }
        RpcMessageInfo type = field.MessageType!;
        string bare = field.IsExtension ? field.FullName[(
            field.FullName.LastIndexOf('.') + 1)..] : field.Name;
        bool isLikeGroup = type.Name.Equals(bare, StringComparison.OrdinalIgnoreCase);
        return isLikeGroup && !field.IsExtension ? type.Name : field.Name;
    }

    private static string Special(double value) => double.IsNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";

    private static string Quoted(byte[] bytes)
    {
        StringBuilder text = new("\"");
        foreach (byte b in bytes)
        {
            text.Append('\\').Append(Convert.ToString(b, 8).PadLeft(3, '0'));
        }
        return text.Append('"').ToString();
    }
}
