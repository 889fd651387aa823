using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using Label = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Label;
using Range = Google.Protobuf.Reflection.DescriptorProto.Types.ExtensionRange;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

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

    /// <summary>Adds messages and enums. Groups and map entries are written with their fields.</summary>
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

    /// <summary>Writes the content between the braces of a message or group.</summary>
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

/// <summary>Fields, oneofs and extensions as .proto files write them.</summary>
internal sealed class ProtoTextFields(
    ProtoText text, ProtoTextNames names, ProtoTextOptions options, ProtoTextMessages messages,
    FileDescriptorProto file)
{
    // Searching the messages of a scope for each field would need quadratic time.
    private readonly Dictionary<RepeatedField<DescriptorProto>, Dictionary<string, int>> _places =
        new(ReferenceEqualityComparer.Instance);

    /// <summary>Whether a field is written with the word <c>group</c> and the fields of its type.</summary>
    public static bool IsGroup(FieldDescriptorProto field) => field.Type == Type.Group;

    /// <summary>The place of a group's type, or of a map's entry, among the messages of a scope; null for
    /// other fields.</summary>
    public int? TypeIndex(FieldDescriptorProto field, RepeatedField<DescriptorProto> siblings, string scope)
    {
        if (!_places.TryGetValue(siblings, out Dictionary<string, int>? places))
        {
            _places[siblings] = places = PlacesOf(siblings, scope);
        }

        return places.TryGetValue(field.TypeName, out int index)
            && (IsGroup(field) || siblings[index].Options?.MapEntry == true)
                ? index
                : null;
    }

    /// <summary>The fields and oneofs of a message, a oneof at the place of its first field.</summary>
    public IEnumerable<ProtoTextElement> Members(DescriptorProto message, string fullName, string path)
    {
        ILookup<int, int> members = Enumerable.Range(0, message.Field.Count)
            .Where(i => message.Field[i] is { HasOneofIndex: true, Proto3Optional: false })
            .ToLookup(i => message.Field[i].OneofIndex);
        for (int i = 0; i < message.Field.Count; i++)
        {
            FieldDescriptorProto field = message.Field[i];
            string fieldPath = $"{path},{DescriptorProto.FieldFieldNumber},{i}";
            if (!field.HasOneofIndex || field.Proto3Optional)
            {
                yield return new ProtoTextElement(
                    fieldPath,
                    () => WriteMember(message, field, fullName, path, fieldPath),
                    TypeIndex(field, message.NestedType, fullName));
            }
            else if (members[field.OneofIndex].First() == i)
            {
                IEnumerable<int> fields = members[field.OneofIndex];
                yield return new ProtoTextElement(
                    fieldPath,
                    () => WriteOneof(message, field.OneofIndex, fields, fullName, path),
                    fields.Min(f => TypeIndex(message.Field[f], message.NestedType, fullName)));
            }
        }
    }

    /// <summary>Writes an extend block of a run of extensions.</summary>
    public void WriteExtensions(
        RepeatedField<FieldDescriptorProto> extensions, int start, int end, string path, string blockPath,
        RepeatedField<DescriptorProto> siblings, string siblingsPath, string scope) =>
        text.Block($"extend {names.Reference(extensions[start].Extendee, scope)}", blockPath, () =>
        {
            for (int i = start; i < end; i++)
            {
                WriteField(extensions[i], scope, $"{path},{i}", siblings, siblingsPath, null);
            }
        });

    private static Dictionary<string, int> PlacesOf(RepeatedField<DescriptorProto> siblings, string scope)
    {
        Dictionary<string, int> places = new(StringComparer.Ordinal);
        for (int i = 0; i < siblings.Count; i++)
        {
            places.TryAdd("." + ProtoTextNames.Join(scope, siblings[i].Name), i);
        }

        return places;
    }

    private void WriteOneof(
        DescriptorProto message, int index, IEnumerable<int> fields, string fullName, string path)
    {
        OneofDescriptorProto oneof = message.OneofDecl[index];
        text.Block($"oneof {oneof.Name}", $"{path},{DescriptorProto.OneofDeclFieldNumber},{index}", () =>
        {
            options.WriteStatements("OneofOptions", oneof.Options, fullName);
            foreach (int i in fields)
            {
                string fieldPath = $"{path},{DescriptorProto.FieldFieldNumber},{i}";
                WriteMember(message, message.Field[i], fullName, path, fieldPath);
            }
        });
    }

    private void WriteMember(
        DescriptorProto message, FieldDescriptorProto field, string fullName, string path, string fieldPath)
    {
        DescriptorProto? entry =
            !IsGroup(field) && TypeIndex(field, message.NestedType, fullName) is { } index
            ? message.NestedType[index]
            : null;
        string nestedPath = $"{path},{DescriptorProto.NestedTypeFieldNumber}";
        WriteField(field, fullName, fieldPath, message.NestedType, nestedPath, entry);
    }

    private void WriteField(
        FieldDescriptorProto field, string scope, string path, RepeatedField<DescriptorProto> siblings,
        string siblingsPath, DescriptorProto? mapEntry)
    {
        IReadOnlyList<string> assignments =
        [
            .. Default(field),
            .. JsonName(field),
            .. options.Assignments("FieldOptions", field.Options, scope),
        ];
        if (IsGroup(field))
        {
            WriteGroup(field, scope, path, siblings, siblingsPath, assignments);
            return;
        }

        string type = mapEntry is null
            ? LabelOf(field) + TypeOf(field, scope)
            : $"map<{TypeOf(mapEntry.Field[0], scope)}, {TypeOf(mapEntry.Field[1], scope)}>";
        text.Statement(options.WithList($"{type} {field.Name} = {field.Number}", assignments) + ";", path);
    }

    private void WriteGroup(
        FieldDescriptorProto field, string scope, string path, RepeatedField<DescriptorProto> siblings,
        string siblingsPath, IReadOnlyList<string> assignments)
    {
        if (TypeIndex(field, siblings, scope) is not { } index)
        {
            throw SchemaError.Invalid(
                $"{file.Name}: the group '{field.Name}' of '{scope}' has a type of another scope, "
                + $"'{field.TypeName}', which a .proto file cannot express.");
        }

        DescriptorProto type = siblings[index];
        string head = options.WithList($"{LabelOf(field)}group {type.Name} = {field.Number}", assignments);
        text.Block(
            head, path,
            () => messages.WriteBody(type, ProtoTextNames.Join(scope, type.Name), $"{siblingsPath},{index}"));
    }

    private string LabelOf(FieldDescriptorProto field)
    {
        bool isProto2 = file.Syntax is "" or "proto2";
        return field switch
        {
            { Label: Label.Repeated } => "repeated ",
            { Label: Label.Required } => "required ",
            { Proto3Optional: true } => "optional ",
            { HasOneofIndex: true } => "",
            _ => isProto2 ? "optional " : "",
        };
    }

    private string TypeOf(FieldDescriptorProto field, string scope) => field.TypeName.Length > 0
        ? names.Reference(field.TypeName, scope)
        : field.Type.ToString().ToLowerInvariant();

    private static IEnumerable<string> Default(FieldDescriptorProto field)
    {
        if (field.HasDefaultValue)
        {
            string value = field.Type switch
            {
                Type.String => ProtoTextLiteral.Quote(field.DefaultValue),
                Type.Bytes => ProtoTextLiteral.Quote(FieldDefault.Unescape(field.DefaultValue)),
                _ => field.DefaultValue,
            };
            yield return $"default = {value}";
        }
    }

    // protoc sets json_name even if the .proto does not declare it. Extensions cannot declare one.
    private static IEnumerable<string> JsonName(FieldDescriptorProto field)
    {
        if (field.HasJsonName && !field.HasExtendee && field.JsonName != JsonNameOf(field.Name))
        {
            yield return $"json_name = {ProtoTextLiteral.Quote(field.JsonName)}";
        }
    }

    private static string JsonNameOf(string name)
    {
        System.Text.StringBuilder json = new();
        bool raises = false;
        foreach (char c in name)
        {
            if (c == '_')
            {
                raises = true;
                continue;
            }

            json.Append(raises && char.IsAsciiLetterLower(c) ? char.ToUpperInvariant(c) : c);
            raises = false;
        }

        return json.ToString();
    }
}
