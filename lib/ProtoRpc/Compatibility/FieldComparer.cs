using Google.Protobuf.Reflection;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares the field or extension of one number in two versions of a message.</summary>
/// <param name="changes">Gets what breaks.</param>
/// <param name="features">Finds features.</param>
internal sealed class FieldComparer(ChangeList changes, FeatureResolver features)
{
    private const RpcBreakingCategory Calls = RpcBreakingCategory.Wire | RpcBreakingCategory.Json;

    private readonly FieldTypes _types = new();

    public void Compare(RpcFieldInfo older, RpcFieldInfo newer)
    {
        SchemaElement element = new(older.FullName, newer.File, newer.Path);
        CompareNames(older, newer, element);
        CompareCardinality(older, newer, element);
        CompareOneofs(older, newer, element);
        CompareDefaults(older, newer, element);
        if (older.IsMap && newer.IsMap)
        {
            CompareEntries(older, newer, element, 1, "keys");
            CompareEntries(older, newer, element, 2, "values");
        }
        else
        {
            string what = Named(older);
            CompareTypes(older, newer, element, what);
            CompareUtf8(older, newer, element, what);
        }

        CompareOptions(older, newer, element);
    }

    // The name of an entry type is derived from the name of the field, so it is not compared.
    private void CompareEntries(
        RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element, int number, string part)
    {
        if (older.MessageType!.FindField(number) is { } before
            && newer.MessageType!.FindField(number) is { } after)
        {
            string what = $"{part} of the map {Shown(BareName(older))}";
            CompareTypes(before, after, element, what);
            CompareUtf8(before, after, element, what);
        }
    }

    private void CompareNames(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element)
    {
        bool sameJson = older.IsExtension || older.JsonKey == newer.JsonKey;
        if (older.Name != newer.Name)
        {
            List<string> bufRules = ["FIELD_SAME_NAME"];
            if (!sameJson)
            {
                bufRules.Add("FIELD_SAME_JSON_NAME");
            }

            changes.Add(
                RpcBreakingRule.FieldRenamed, RpcBreakingCategory.Json | RpcBreakingCategory.Source, element,
                $"The {Kind(older)} {older.Number} was named {Shown(BareName(older))} and is named "
                + $"{Shown(BareName(newer))}. Keep the name: JSON and code use it.",
                bufRules);
        }
        else if (!sameJson)
        {
            changes.Add(
                RpcBreakingRule.FieldJsonNameChanged, RpcBreakingCategory.Json, element,
                $"The {Named(older)} was named \"{Shown(older.JsonKey)}\" in JSON and is named "
                + $"\"{Shown(newer.JsonKey)}\". Set the option json_name back.",
                "FIELD_SAME_JSON_NAME");
        }
    }

    private void CompareTypes(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element, string what)
    {
        if (older.Kind == newer.Kind && NameOfType(older) == NameOfType(newer))
        {
            return;
        }

        bool sameWire = _types.HaveSameEncoding(older, newer);
        bool sameJson = _types.HaveSameJson(older, newer);
        RpcBreakingCategory category = RpcBreakingCategory.Source
            | (sameWire ? RpcBreakingCategory.None : RpcBreakingCategory.Wire)
            | (sameJson ? RpcBreakingCategory.None : RpcBreakingCategory.Json);
        List<string> bufRules = ["FIELD_SAME_TYPE"];
        if (!sameWire)
        {
            bufRules.Add("FIELD_WIRE_COMPATIBLE_TYPE");
        }

        if (!sameWire || !sameJson)
        {
            bufRules.Add("FIELD_WIRE_JSON_COMPATIBLE_TYPE");
        }

        changes.Add(
            RpcBreakingRule.FieldTypeChanged, category, element,
            $"The type of the {what} changed from {TypeText(older)} to {TypeText(newer)}. "
            + (sameWire && sameJson
                ? "Messages remain readable, but generated code changes."
                : "Add a field with another number for the new type, and keep this one."),
            bufRules);
    }

    private void CompareCardinality(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element)
    {
        FieldCardinality before = FieldTypes.CardinalityOf(older);
        FieldCardinality after = FieldTypes.CardinalityOf(newer);
        if (before == after)
        {
            return;
        }

        // In the binary form, a map is a list of entries; in JSON, it is an object.
        bool sameJson = before <= FieldCardinality.Explicit && after <= FieldCardinality.Explicit;
        bool sameWire = sameJson
            || (before >= FieldCardinality.Repeated && after >= FieldCardinality.Repeated);
        RpcBreakingCategory category = RpcBreakingCategory.Source
            | (sameWire ? RpcBreakingCategory.None : RpcBreakingCategory.Wire)
            | (sameJson ? RpcBreakingCategory.None : RpcBreakingCategory.Json);
        List<string> bufRules = ["FIELD_SAME_CARDINALITY"];
        if (!sameWire)
        {
            bufRules.Add("FIELD_WIRE_COMPATIBLE_CARDINALITY");
        }

        if (!sameJson)
        {
            bufRules.Add("FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY");
        }

        if (older.IsRequired != newer.IsRequired)
        {
            bufRules.Add("MESSAGE_SAME_REQUIRED_FIELDS");
        }

        changes.Add(
            RpcBreakingRule.FieldCardinalityChanged, category, element,
            $"The {Named(older)} was {FieldTypes.Describe(before)} and is "
            + $"{FieldTypes.Describe(after)}. "
            + (sameWire && sameJson
                ? "Messages remain readable, but generated code changes."
                : "Add a field with another number, and keep this one."),
            bufRules);
    }

    private void CompareOneofs(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element)
    {
        string? before = older.Oneof?.Name;
        string? after = newer.Oneof?.Name;
        if (before != after)
        {
            string moved = before is null ? $"into the oneof {Shown(after!)}"
                : after is null ? $"out of the oneof {Shown(before)}"
                : $"from the oneof {Shown(before)} to {Shown(after)}";
            changes.Add(
                RpcBreakingRule.FieldOneofChanged, Calls | RpcBreakingCategory.Source, element,
                $"The {Named(older)} moved {moved}. Setting a field of a oneof clears the others. Add a "
                + "new field there, and keep this one.",
                "FIELD_SAME_ONEOF");
        }
    }

    private void CompareDefaults(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element)
    {
        if (older.DefaultValue is { } before && newer.DefaultValue is { } after
            && !DefaultValues.AreSame(before, after))
        {
            changes.Add(
                RpcBreakingRule.FieldDefaultChanged, Calls, element,
                $"The default of the {Named(older)} changed from {DefaultValues.Describe(older)} to "
                + $"{DefaultValues.Describe(newer)}. Both sides read it for an absent field. Set it back.",
                "FIELD_SAME_DEFAULT");
        }
    }

    private void CompareUtf8(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element, string what)
    {
        if (older.Kind != RpcFieldKind.String || newer.Kind != RpcFieldKind.String)
        {
            return;
        }

        List<string> bufRules = [];
        if (older.ValidatesUtf8 != newer.ValidatesUtf8)
        {
            bufRules.Add("FIELD_SAME_UTF8_VALIDATION");
        }

        if (IsCheckedInJava(older) != IsCheckedInJava(newer))
        {
            bufRules.Add("FIELD_SAME_JAVA_UTF8_VALIDATION");
        }

        if (bufRules.Count > 0)
        {
            string where = older.ValidatesUtf8 == newer.ValidatesUtf8 ? " in Java" : "";
            changes.Add(
                RpcBreakingRule.FieldUtf8Changed, RpcBreakingCategory.Source, element,
                $"Whether the {what} must be valid UTF-8 changed{where}. Set utf8_validation back, or check "
                + "that all callers send UTF-8.",
                bufRules);
        }
    }

    // Proto2 and proto3 use an option of the file, editions a feature of Java.
    private bool IsCheckedInJava(RpcFieldInfo field)
    {
        FileDescriptorProto file = field.File.Proto;
        bool byOption = file.Syntax != "editions" || file.Options is { HasJavaStringCheckUtf8: true };
        return field.ValidatesUtf8
            || (byOption ? file.Options?.JavaStringCheckUtf8 == true : features.Get(field).IsJavaStrict);
    }

    private void CompareOptions(RpcFieldInfo older, RpcFieldInfo newer, SchemaElement element)
    {
        if (FieldTypes.HasLongNumbers(older) && FieldTypes.HasLongNumbers(newer))
        {
            FieldOptions.Types.JSType before = older.Proto.Options?.Jstype ?? default;
            FieldOptions.Types.JSType after = newer.Proto.Options?.Jstype ?? default;
            if (before != after)
            {
                AddOption(older, element, "jstype", Upper(before), Upper(after), "FIELD_SAME_JSTYPE");
            }
        }

        if (FieldTypes.HasText(older) && FieldTypes.HasText(newer))
        {
            string before = CppStringOf(older);
            string after = CppStringOf(newer);
            // Code for a string piece also compiles with a string.
            if (before != after && !(before == "STRING_PIECE" && after == "STRING"))
            {
                AddOption(
                    older, element, "string_type of C++", before, after, "FIELD_SAME_CPP_STRING_TYPE");
            }
        }
    }

    private void AddOption(
        RpcFieldInfo field, SchemaElement element, string option, string before, string after, string bufRule)
    {
        changes.Add(
            RpcBreakingRule.FieldOptionChanged, RpcBreakingCategory.Source, element,
            $"The option {option} of the {Named(field)} changed from {before} to {after}, and with it "
            + "generated code. Set it back.",
            bufRule);
    }

    // Before edition 2024, the option ctype sets the type.
    private string CppStringOf(RpcFieldInfo field)
    {
        if (field.File.Proto.Edition < Edition._2024 && field.Proto.Options is { HasCtype: true } options)
        {
            return options.Ctype switch
            {
                FieldOptions.Types.CType.Cord => "CORD",
                FieldOptions.Types.CType.StringPiece => "STRING_PIECE",
                _ => "STRING",
            };
        }

        return features.Get(field).CppString switch
        {
            CppStringType.View => "VIEW",
            CppStringType.Cord => "CORD",
            _ => "STRING",
        };
    }

    private static string Upper(FieldOptions.Types.JSType type) => type switch
    {
        FieldOptions.Types.JSType.JsString => "JS_STRING",
        FieldOptions.Types.JSType.JsNumber => "JS_NUMBER",
        _ => "JS_NORMAL",
    };

    private static string Kind(RpcFieldInfo field) => field.IsExtension ? "extension" : "field";

    // The name in messages, without the brackets of an extension.
    private static string BareName(RpcFieldInfo field) => field.IsExtension ? field.FullName : field.Name;

    private static string Named(RpcFieldInfo field) => $"{Kind(field)} {Shown(BareName(field))}";

    private static string? NameOfType(RpcFieldInfo field) =>
        field.MessageType?.FullName ?? field.EnumType?.FullName;

    private static string TypeText(RpcFieldInfo field) =>
        $"{(field.Kind == RpcFieldKind.Group ? "delimited " : "")}{Shown(field.TypeName)}";
}
