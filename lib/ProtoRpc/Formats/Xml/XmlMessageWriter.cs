using System.Collections;
using System.Text;
using System.Xml;
using Google.Protobuf;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Xml;

/// <summary>One run of writing a message as XML.</summary>
internal sealed class XmlMessageWriter(
    XmlWriter writer, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    public void Write(DynamicMessage message)
    {
        try
        {
            writer.WriteStartElement(Options.XmlRoot);
            WriteContent(message, 0);
            writer.WriteEndElement();
        }
        catch (ArgumentException e)
        {
            // The writer throws this for a control character, which XML cannot hold, and for a bad root.
            throw Error(
                RpcErrorIds.InvalidFieldValue,
                $"XML cannot hold this: {e.Message} The binary format and JSON can.",
                e);
        }
    }

    private void WriteContent(DynamicMessage message, int depth)
    {
        CheckDepth(depth);
        if (WellKnownText.IsOne(message.Layout.WellKnown))
        {
            writer.WriteString(Allowed(TextOf(message)));
            return;
        }
        foreach (FieldLayout field in message.Layout.Shown.Concat(message.Layout.Extensions))
        {
            if (IsWritten(message, field))
            {
                WriteField(message, field, depth);
            }
        }
    }

    private void WriteField(DynamicMessage message, FieldLayout field, int depth)
    {
        Path.PushField(field.Info.Name);
        string name = XmlNames.Of(field);
        if (XmlNames.Find(message.Layout, name) != field)
        {
            throw Invalid(
                $"the element <{name}> is a field of {message.Type.FullName}; use JSON for this extension.");
        }
        object? value = message.Get(field.Info);
        if (field.IsRepeated)
        {
            WriteRepeated(field, (IEnumerable)value!, name, depth);
        }
        else
        {
            WriteElement(name, field, value!, depth);
        }
        Path.Pop();
    }

    private void WriteRepeated(FieldLayout field, IEnumerable values, string name, int depth)
    {
        if (Options.NestedRepeated)
        {
            writer.WriteStartElement(name);
            name = XmlNames.Item;
        }
        if (values is IDictionary map)
        {
            foreach (DictionaryEntry entry in map)
            {
                Path.PushKey(entry.Key);
                WriteEntry(name, field, entry, depth + 1);
                Path.Pop();
            }
        }
        else
        {
            int index = 0;
            foreach (object value in values)
            {
                Path.PushIndex(index++);
                WriteElement(name, field, value, depth);
                Path.Pop();
            }
        }
        if (Options.NestedRepeated)
        {
            writer.WriteEndElement();
        }
    }

    private void WriteEntry(string name, FieldLayout field, DictionaryEntry entry, int depth)
    {
        writer.WriteStartElement(name);
        WriteElement(XmlNames.Key, field.Key, entry.Key, depth);
        WriteElement(XmlNames.Value, field.Value, entry.Value!, depth);
        writer.WriteEndElement();
    }

    private void WriteElement(string name, FieldLayout field, object value, int depth)
    {
        writer.WriteStartElement(name);
        if (value is DynamicMessage message)
        {
            WriteContent(message, depth + 1);
        }
        else if (value is IMessage generated)
        {
            DynamicMessage view = Views.Load(field.Message, generated);
            WriteContent(view, depth + 1);
            Views.Release(view);
        }
        else
        {
            writer.WriteString(Allowed(TextOf(field, value)));
        }
        writer.WriteEndElement();
    }

    private string Allowed(string text)
    {
        if (!Options.ReplaceForbidden)
        {
            return text;
        }
        StringBuilder allowed = new(text.Length);
        foreach (Rune rune in text.EnumerateRunes())
        {
            // A half of a surrogate pair comes as U+FFFD already, and what is beyond U+FFFF may always stand.
            allowed.Append(
                rune.IsBmp && !XmlConvert.IsXmlChar((char)rune.Value) ? "\uFFFD" : rune.ToString());
        }
        return allowed.ToString();
    }
}
