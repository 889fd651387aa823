using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using Range = Google.Protobuf.Reflection.DescriptorProto.Types.ExtensionRange;

namespace ProtoRpc.Schema.Text;

/// <summary>Messages, enums and extend blocks as .proto files write them.</summary>
internal sealed class ProtoTextMessages
{
    private const int MaxFieldNumber = 536870911;

    private readonly ProtoText _text;
    private readonly ProtoTextOptions _options;
    private readonly ProtoTextFields _fields;
    private readonly FileDescriptorProto _file;

    public ProtoTextMessages(ProtoText text, ProtoTextNames names, ProtoTextOptions options, SchemaFile file)
    {
        _text = text;
        _options = options;
        _file = file.Proto;
        _fields = new ProtoTextFields(text, names, options, this, file.Proto);
        Positions = new SourcePositions(file.Proto.SourceCodeInfo);
    }

    public SourcePositions Positions { get; }

    /// <summary>Adds messages and enums; those that are written elsewhere,
    /// as groups and map entries, are not.
    /// </summary>
    public void AddTypes(
        ProtoTextOrder order, RepeatedField<DescriptorProto> messages, string messagesPath,
        RepeatedField<EnumDescriptorProto> enums, string enumsPath, IEnumerable<FieldDescriptorProto> fields,
        string scope)
    {
        HashSet<string> groups = [.. fields.Where(ProtoTextFields.IsGroup).Select(f => f.TypeName)];
        order.Add(messages
            .Select((message, i) => (Message: message, Index: i))
            .Where(m => m.Message.Options?.MapEntry != true
                && !groups.Contains("." + ProtoTextNames.Join(scope, m.Message.Name)))
            .Select(m => new ProtoTextElement(
                $"{messagesPath},{m.Index}",
                () => WriteMessage(m.Message, scope, $"{messagesPath},{m.Index}"),
                m.Index)));
        order.Add(enums.Select((type, i) => new ProtoTextElement(
            $"{enumsPath},{i}", () => WriteEnum(type, scope, $"{enumsPath},{i}"))));
    }

    /// <summary>Adds extend blocks, one for each run of extensions of the same message.</summary>
    public void AddExtensions(
        ProtoTextOrder order, RepeatedField<FieldDescriptorProto> extensions, string path,
        RepeatedField<DescriptorProto> siblings, string siblingsPath, string scope)
    {
        List<ProtoTextElement> blocks = [];
        for (int start = 0; start < extensions.Count;)
        {
            int from = start;
            int end = start + 1;
            while (end < extensions.Count && extensions[end].Extendee == extensions[start].Extendee
                && !(Positions.IsEmpty && ProtoTextFields.IsGroup(extensions[end])))
            {
                end++;
            }

            // The source info does not separate the comments of the blocks, so only the first block gets its
            // comment.
            string blockPath = from == 0 ? path : "";
            blocks.Add(new ProtoTextElement(
                $"{path},{from}",
                () => _fields.WriteExtensions(
                    extensions, from, end, path, blockPath, siblings, siblingsPath, scope),
                _fields.TypeIndex(extensions[from], siblings, scope)));
            start = end;
        }

        order.Add(blocks);
    }

    /// <summary>Writes a message that is declared in a scope.</summary>
    public void WriteMessage(DescriptorProto message, string scope, string path) =>
        _text.Block(
            $"{Visibility(message.Visibility)}message {message.Name}", path,
            () => WriteBody(message, ProtoTextNames.Join(scope, message.Name), path));

    /// <summary>Writes what stands between a message's or group's braces.</summary>
    public void WriteBody(DescriptorProto message, string fullName, string path)
    {
        string outer = fullName[..Math.Max(0, fullName.LastIndexOf('.'))];
        _options.WriteStatements("MessageOptions", message.Options, outer);
        _text.Blank();

        string nestedPath = $"{path},{DescriptorProto.NestedTypeFieldNumber}";
        ProtoTextOrder order = new(Positions);
        AddTypes(
            order, message.NestedType, nestedPath, message.EnumType,
            $"{path},{DescriptorProto.EnumTypeFieldNumber}",
            message.Field.Concat(message.Extension), fullName);
        order.Add(_fields.Members(message, fullName, path));
        AddExtensions(
            order, message.Extension, $"{path},{DescriptorProto.ExtensionFieldNumber}", message.NestedType,
            nestedPath, fullName);
        foreach (Action write in order.InOrder())
        {
            write();
        }

        _text.Blank();
        for (int i = 0; i < message.ExtensionRange.Count; i++)
        {
            WriteExtensionRange(
                message, i, fullName, $"{path},{DescriptorProto.ExtensionRangeFieldNumber},{i}");
        }

        _text.Blank();
        WriteReserved(
            [.. message.ReservedRange.Select(r => RangeText(r.Start, r.End - 1, MaxFieldNumber))],
            $"{path},{DescriptorProto.ReservedRangeFieldNumber}",
            message.ReservedName, $"{path},{DescriptorProto.ReservedNameFieldNumber}");
    }

    /// <summary>Writes an enum that is declared in a scope.</summary>
    public void WriteEnum(EnumDescriptorProto type, string scope, string path) =>
        _text.Block($"{Visibility(type.Visibility)}enum {type.Name}", path, () =>
        {
            _options.WriteStatements("EnumOptions", type.Options, scope);
            _text.Blank();
            for (int i = 0; i < type.Value.Count; i++)
            {
                EnumValueDescriptorProto value = type.Value[i];
                IReadOnlyList<string> options =
                    _options.Assignments("EnumValueOptions", value.Options, scope);
                string valuePath = $"{path},{EnumDescriptorProto.ValueFieldNumber},{i}";
                _text.Statement(
                    _options.WithList($"{value.Name} = {value.Number}", options) + ";", valuePath);
            }

            _text.Blank();
            WriteReserved(
                [.. type.ReservedRange.Select(r => RangeText(r.Start, r.End, int.MaxValue))],
                $"{path},{EnumDescriptorProto.ReservedRangeFieldNumber}",
                type.ReservedName, $"{path},{EnumDescriptorProto.ReservedNameFieldNumber}");
        });

    private void WriteExtensionRange(DescriptorProto message, int index, string scope, string path)
    {
        Range range = message.ExtensionRange[index];
        int max = message.Options?.MessageSetWireFormat == true ? int.MaxValue - 1 : MaxFieldNumber;
        string head = $"extensions {RangeText(range.Start, range.End - 1, max)}";
        IReadOnlyList<string> options = _options.Assignments("ExtensionRangeOptions", range.Options, scope);
        _text.Statement(_options.WithList(head, options) + ";", path);
    }

    private void WriteReserved(
        IReadOnlyList<string> ranges, string rangesPath, IReadOnlyList<string> names, string namesPath)
    {
        if (ranges.Count > 0)
        {
            _text.Statement($"reserved {string.Join(", ", ranges)};", rangesPath);
        }

        if (names.Count > 0)
        {
            IEnumerable<string> written = _file.Syntax == "editions"
                ? names
                : names.Select(ProtoTextLiteral.Quote);
            _text.Statement($"reserved {string.Join(", ", written)};", namesPath);
        }
    }

    private static string RangeText(int start, int last, int max) =>
        last == start ? $"{start}"
        : last >= max ? $"{start} to max"
        : $"{start} to {last}";

    private string Visibility(SymbolVisibility visibility) => visibility switch
    {
        _ when _file.Edition < Edition._2024 => "",
        SymbolVisibility.VisibilityLocal => "local ",
        SymbolVisibility.VisibilityExport => "export ",
        _ => "",
    };
}
