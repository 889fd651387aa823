using System.Xml;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Xml;

/// <summary>One run of reading a message of XML.</summary>
internal sealed class XmlMessageReader(
    XmlReader reader, XmlNodeNames names, RpcMessageInfo root, FormatOptions options, long length)
    : FormatReader(root, options, length)
{
    private const int MaxReason = 300;
    private const string SchemaInstance = "http://www.w3.org/2001/XMLSchema-instance";
    private const string Namespaces = "http://www.w3.org/2000/xmlns/";
    private const string XmlNamespace = "http://www.w3.org/XML/1998/namespace";

    protected override string Where => reader is IXmlLineInfo line
        ? Options.Origin.Place(line.LineNumber - 1, line.LinePosition - 1)
        : "an unknown place";

    /// <summary>Opens the text, whose first bytes are read immediately to detect the encoding.</summary>
    /// <exception cref="RpcException">They are of no encoding.</exception>
    public static XmlReader Open(
        Stream input, XmlReaderSettings settings, RpcMessageInfo root, FormatOptions options)
    {
        try
        {
            return XmlReader.Create(input, settings);
        }
        catch (XmlException e)
        {
            throw NotXml(root.Name, options, e);
        }
    }

    protected override void ReadAll(in MessageTarget target)
    {
        try
        {
            reader.MoveToContent();
            ReadContent(target, 0);
            while (ReadNode())
            {
                // After the message, XmlReader only allows comments and white space.
            }
        }
        catch (XmlException e)
        {
            throw NotXml(Path.ToString(), Options, e);
        }
    }

    private static RpcException NotXml(string path, FormatOptions options, XmlException e) => new(
        RpcStatusCode.InvalidArgument,
        $"{path}: this is not XML, or uses a feature that is not allowed: {Reason(e)} "
        + $"(at {options.Origin.Place(Math.Max(0, e.LineNumber - 1), Math.Max(0, e.LinePosition - 1))})",
        e)
    {
        ErrorId = RpcErrorIds.MalformedMessage,
        FieldPath = path,
    };

    // The message may quote the names of elements, which a peer can make very long.
    private static string Reason(XmlException e) =>
        e.Message.Length <= MaxReason ? e.Message : $"{e.Message.AsSpan(0, MaxReason)}...";

    /// <summary>Reads from the start of an element to its end.</summary>
    private void ReadContent(in MessageTarget message, int depth)
    {
        CheckDepth(depth);
        if (WellKnownText.IsOne(message.Layout.WellKnown))
        {
            ReadTextInto(message, ReadText());
            return;
        }
        CheckAttributes();
        if (reader.IsEmptyElement)
        {
            return;
        }
        SeenFields seen = new(message.Layout.Fields.Length);
        while (NextElement())
        {
            ReadField(message, ref seen, depth);
        }
    }

    /// <summary>Goes to the next element within this one; false at its end.</summary>
    private bool NextElement()
    {
        while (ReadNode())
        {
            switch (reader.NodeType)
            {
                case XmlNodeType.Element:
                    return true;
                case XmlNodeType.EndElement:
                    return false;
                case XmlNodeType.Text or XmlNodeType.CDATA:
                    throw Invalid(reader.Value, "is text, and the elements of fields are expected.");
            }
        }
        throw Malformed("the text ends before the message does.");
    }

    private void ReadField(in MessageTarget message, ref SeenFields seen, int depth)
    {
        if (XmlNames.Find(message.Layout, reader.LocalName) is not { } field)
        {
            if (!IgnoresUnknown(message.Layout))
            {
                throw UnknownField(message.Layout, reader.LocalName);
            }
            Skip();
            return;
        }
        Path.PushField(field.Info.Name);
        bool isNested = field.IsRepeated && Options.NestedRepeated;
        if (!field.IsRepeated || isNested)
        {
            CheckOnce(ref seen, field);
            CheckOneof(message, field);
        }
        if (isNested)
        {
            ReadItems(message, field, depth);
        }
        else
        {
            ReadValue(message, field, depth);
        }
        Path.Pop();
    }

    private void ReadItems(in MessageTarget message, FieldLayout field, int depth)
    {
        CheckAttributes();
        if (reader.IsEmptyElement)
        {
            return;
        }
        for (int index = 0; NextElement(); index++)
        {
            Path.PushIndex(index);
            if (reader.LocalName != XmlNames.Item)
            {
                throw Invalid(
                    $"expected <item> for an element of a list, not <{ValueText.OfName(reader.LocalName)}>.");
            }
            ReadValue(message, field, depth);
            Path.Pop();
        }
    }

    private void ReadValue(in MessageTarget message, FieldLayout field, int depth)
    {
        if (field.IsMap)
        {
            ReadEntry(message, field, depth + 1);
        }
        else if (field.IsMessage)
        {
            MessageTarget child = NewMessage(field.Message, message.ClassOf(field));
            ReadContent(child, depth + 1);
            message.Store(field, child.Message);
        }
        else
        {
            StoreText(message, field, ReadText());
        }
    }

    private void ReadEntry(in MessageTarget message, FieldLayout field, int depth)
    {
        GeneratedType? type = message.ClassOf(field)?.Properties.Held(field.Value);
        object? key = null;
        object? value = null;
        CheckAttributes();
        bool isEmpty = reader.IsEmptyElement;
        while (!isEmpty && NextElement())
        {
            if (reader.LocalName == XmlNames.Key && key is null)
            {
                key = OfText(field.Key, null, ReadText());
            }
            else if (reader.LocalName == XmlNames.Value && value is null)
            {
                value = ReadPart(field.Value, type, depth);
            }
            else
            {
                throw Invalid(
                    $"<{ValueText.OfName(reader.LocalName)}> is not allowed in an entry of a map, which has "
                    + "<key> and <value>, each once.");
            }
        }
        AddEntry(message, field, key ?? DefaultOf(field.Key, null), value ?? DefaultOf(field.Value, type));
    }

    private object ReadPart(FieldLayout part, GeneratedType? type, int depth)
    {
        if (!part.IsMessage)
        {
            return OfText(part, null, ReadText());
        }
        MessageTarget child = NewMessage(part.Message, type);
        ReadContent(child, depth + 1);
        return child.Message;
    }

    /// <summary>Reads an element that has no elements in it.</summary>
    private string ReadText()
    {
        CheckAttributes();
        if (reader.IsEmptyElement)
        {
            return "";
        }
        string first = "";
        StringBuilder? more = null;
        while (ReadNode() && reader.NodeType != XmlNodeType.EndElement)
        {
            if (reader.NodeType == XmlNodeType.Element)
            {
                throw Invalid($"expected text, not <{ValueText.OfName(reader.LocalName)}>.");
            }
            if (first.Length == 0)
            {
                first = reader.Value;
            }
            else
            {
                (more ??= new StringBuilder(first)).Append(reader.Value);
            }
        }
        return more?.ToString() ?? first;
    }

    private bool ReadNode()
    {
        CountToken();
        names.BeginNode();
        return reader.Read();
    }

    private void CheckAttributes()
    {
        while (reader.MoveToNextAttribute())
        {
            CountToken();
            // Other writers of this form add these attributes to describe a value's type.
            bool isKnown = reader.NamespaceURI is SchemaInstance or Namespaces or XmlNamespace ||
                reader.LocalName is "type" or "value";
            if (!isKnown && !Options.IgnoreUnknownFields)
            {
                throw Error(
                    RpcErrorIds.UnknownField,
                    $"the attribute '{ValueText.OfName(reader.Name)}' is not allowed. "
                    + "Write fields as elements.");
            }
        }
        reader.MoveToElement();
    }

    private void Skip()
    {
        if (reader.IsEmptyElement)
        {
            return;
        }
        for (int depth = reader.Depth; ReadNode() && reader.Depth > depth;)
        {
            // To the end of the element, however deep it is.
        }
    }
}
