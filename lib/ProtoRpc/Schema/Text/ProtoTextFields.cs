using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;
using Label = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Label;
using Type = Google.Protobuf.Reflection.FieldDescriptorProto.Types.Type;

namespace ProtoRpc.Schema.Text;

/// <summary>Fields, oneofs and extensions as .proto files write them.</summary>
internal sealed class ProtoTextFields(
    ProtoText text, ProtoTextNames names, ProtoTextOptions options, ProtoTextMessages messages,
    FileDescriptorProto file)
{
    // Looking through the messages of a scope for each field would take square time.
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

    // protoc puts the name in also where the .proto does not; an extension may not have one.
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
