using System.Collections.Concurrent;
using System.Reflection;
using System.Reflection.Emit;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.ServiceCommands;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc;

/// <summary>Makes the classes of commands: cmdlets with a property for each field.</summary>
/// <remarks>Names of the schema, which its reader has checked, become names of types and properties. Texts of
/// the schema only become texts of attributes.</remarks>
internal sealed class ServiceCommandTypes(TextBudget budget)
{
    private const MethodAttributes Accessor =
        MethodAttributes.Public | MethodAttributes.HideBySig | MethodAttributes.SpecialName;

    // PowerShell caches metadata of a class until the process ends. So importing a service again, even in
    // another runspace, reuses the classes.
    private static readonly ConcurrentDictionary<string, Type> Known = new(StringComparer.Ordinal);

    private static readonly CustomAttributeBuilder AllowEmptyList =
        CreateAttribute(typeof(AllowEmptyCollectionAttribute));

    private static readonly CustomAttributeBuilder AllowEmptyText =
        CreateAttribute(typeof(AllowEmptyStringAttribute));

    private ModuleBuilder? _module;
    private int _requests;

    private ModuleBuilder Module => _module ??= AssemblyBuilder
        .DefineDynamicAssembly(new($"ProtoRpc.Commands.{Guid.NewGuid():N}"), AssemblyBuilderAccess.Run)
        .DefineDynamicModule("Commands");

    public Type CreateAttribute(ServiceCommand command)
    {
        (string request, string[][] suggestions) = RequestOf(command);
        return Known.GetOrAdd(
            KeyOf([command.Name, request, .. OutputsOf(command)]),
            static (_, all) => all.Types.Create(all.Command, all.Request, all.Suggestions),
            (Types: this, Command: command, Request: request, Suggestions: suggestions));
    }

    // The values from which the properties are created.
    private (string Key, string[][] Suggestions) RequestOf(ServiceCommand command)
    {
        string[][] suggestions =
            [.. command.Parameters.Select(parameter => ParameterSuggestions.Get(parameter, budget))];
        List<string> parts = [command.IsPaged ? nameof(RpcPagedServiceCommand) : nameof(RpcServiceCommand)];
        foreach ((CommandParameter parameter, string[] values) in command.Parameters.Zip(suggestions))
        {
            parts.AddRange(
                [
                    parameter.Name, TypeOf(parameter).FullName!,
                    $"{parameter.Text} {parameter.IsMandatory} {parameter.IsPositional}",
                ]);
            parts.AddRange([$"{parameter.Aliases.Count}", .. parameter.Aliases]);
            parts.AddRange([$"{values.Length}", .. values]);
        }

        return (KeyOf([.. parts]), suggestions);
    }

    private static string KeyOf(params string[] parts)
    {
        StringBuilder text = new();
        foreach (string part in parts)
        {
            text.Append(part.Length).Append(':').Append(part);
        }

        return Convert.ToHexString(SHA256.HashData(Encoding.Unicode.GetBytes(text.ToString())));
    }

    private Type Create(ServiceCommand command, string request, string[][] suggestions)
    {
        Type fields = Known.GetOrAdd(
            request, static (_, all) => all.Types.CreateRequest(all.Command, all.Suggestions),
            (Types: this, Command: command, Suggestions: suggestions));

        // PowerShell appends the class name to error ids.
        TypeBuilder type = Module.DefineType(
            command.Name, TypeAttributes.Public | TypeAttributes.Sealed, fields);
        type.DefineDefaultConstructor(MethodAttributes.Public);
        int dash = command.Name.IndexOf('-', StringComparison.Ordinal);
        type.SetCustomAttribute(new(
            typeof(CmdletAttribute).GetConstructor([typeof(string), typeof(string)])!,
            [command.Name[..dash], command.Name[(dash + 1)..]],
            [
                typeof(CmdletAttribute).GetProperty(nameof(CmdletAttribute.DefaultParameterSetName))!,
                typeof(CmdletAttribute).GetProperty(nameof(CmdletAttribute.SupportsShouldProcess))!,
                typeof(CmdletAttribute).GetProperty(nameof(CmdletAttribute.ConfirmImpact))!,
            ],
            [RpcServiceCommand.ByFields, command.CanConfirm, ConfirmImpact.Medium]));
        type.SetCustomAttribute(
            CreateAttribute(typeof(OutputTypeAttribute), [.. OutputsOf(command)]));
        return type.CreateType();
    }

    // The type of the reply, and for -All that of the elements.
    private static IEnumerable<string> OutputsOf(ServiceCommand command)
    {
        yield return ObjectTypeNames.Get(command.Method.ReplyType);
        if (command.IsPaged && PagedMethod.Create(command.Method).Elements.MessageType is { } element)
        {
            yield return ObjectTypeNames.Get(element);
        }
    }

    // Commands with the same request share a base class, which has the parameters.
    private Type CreateRequest(ServiceCommand command, string[][] suggestions)
    {
        TypeBuilder type = Module.DefineType(
            $"Request{++_requests}", TypeAttributes.Public | TypeAttributes.Abstract,
            command.IsPaged ? typeof(RpcPagedServiceCommand) : typeof(RpcServiceCommand));
        type.DefineDefaultConstructor(MethodAttributes.Family);
        foreach ((CommandParameter parameter, string[] values) in command.Parameters.Zip(suggestions))
        {
            Add(type, parameter, values);
        }

        return type.CreateType();
    }

    private static void Add(TypeBuilder type, CommandParameter parameter, string[] suggestions)
    {
        PropertyBuilder property = Property(type, parameter.Name, TypeOf(parameter));
        property.SetCustomAttribute(Parameter(
            (nameof(ParameterAttribute.Mandatory), parameter.IsMandatory),
            (nameof(ParameterAttribute.Position), PositionOf(parameter)),
            (nameof(ParameterAttribute.ValueFromPipelineByPropertyName), true),
            (nameof(ParameterAttribute.ParameterSetName), RpcServiceCommand.ByFields)));
        property.SetCustomAttribute(Parameter(
            (nameof(ParameterAttribute.Position), PositionOf(parameter)),
            (nameof(ParameterAttribute.ParameterSetName), RpcServiceCommand.ByInput)));
        if (parameter.Aliases.Count > 0)
        {
            property.SetCustomAttribute(CreateAttribute(typeof(AliasAttribute), [.. parameter.Aliases]));
        }

        if (parameter.Text != ArgumentText.Plain)
        {
            property.SetCustomAttribute(new(
                typeof(RpcFieldTextAttribute).GetConstructor([typeof(string)])!,
                [parameter.Text.ToString()]));
        }

        if (suggestions.Length > 0)
        {
            property.SetCustomAttribute(CreateAttribute(typeof(ArgumentCompletionsAttribute), suggestions));
        }

        if (parameter.IsMandatory && parameter.Type.IsArray)
        {
            property.SetCustomAttribute(AllowEmptyList);
        }
        else if (parameter.IsMandatory && parameter.Type == typeof(string))
        {
            property.SetCustomAttribute(AllowEmptyText);
        }
    }

    // int.MinValue means that the parameter has no position.
    private static int PositionOf(CommandParameter parameter) => parameter.IsPositional ? 0 : int.MinValue;

    private static Type TypeOf(CommandParameter parameter) =>
        parameter.IsSwitch ? typeof(SwitchParameter) : parameter.Type;

    private static PropertyBuilder Property(TypeBuilder type, string name, Type valueType)
    {
        FieldBuilder field = type.DefineField($"_{name}", valueType, FieldAttributes.Private);
        PropertyBuilder property = type.DefineProperty(name, PropertyAttributes.None, valueType, null);

        MethodBuilder get = type.DefineMethod($"get_{name}", Accessor, valueType, Type.EmptyTypes);
        ILGenerator code = get.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldfld, field);
        code.Emit(OpCodes.Ret);
        property.SetGetMethod(get);

        MethodBuilder set = type.DefineMethod($"set_{name}", Accessor, typeof(void), [valueType]);
        code = set.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldarg_1);
        code.Emit(OpCodes.Stfld, field);
        code.Emit(OpCodes.Ret);
        property.SetSetMethod(set);
        return property;
    }

    private static CustomAttributeBuilder CreateAttribute(Type attribute) =>
        new(attribute.GetConstructor(Type.EmptyTypes)!, []);

    // Creates an attribute whose constructor accepts a list of texts.
    private static CustomAttributeBuilder CreateAttribute(Type attribute, string[] texts) =>
        new(attribute.GetConstructor([typeof(string[])])!, [texts]);

    private static CustomAttributeBuilder Parameter(params (string Name, object Value)[] values) => new(
        typeof(ParameterAttribute).GetConstructor(Type.EmptyTypes)!,
        [],
        [.. values.Select(value => typeof(ParameterAttribute).GetProperty(value.Name)!)],
        [.. values.Select(value => value.Value)]);
}

/// <summary>The values that Tab offers for a parameter: the names of an enum, or a hashtable with the fields
/// of a nested message.</summary>
internal static class ParameterSuggestions
{
    private const int MaxLength = 20_000;
    private const int MaxFields = 30;

    /// <summary>The suggestions; empty for none.</summary>
    public static string[] Get(CommandParameter parameter, TextBudget budget)
    {
        IEnumerable<string> values = parameter.Field switch
        {
            { IsMap: true } => [],
            { EnumType: not null } => parameter.EnumNames,
            { MessageType: { } type } when parameter.Type == typeof(object)
                || parameter.Type == typeof(object[]) => [TemplateOf(type)],
            _ => [],
        };
        string[] found = [.. values.Where(value => value.Length > 0)];
        return budget.Take(found.Sum(value => value.Length), MaxLength) ? found : [];
    }

    // Nested messages are shown as empty hashtables.
    private static string TemplateOf(RpcMessageInfo type) => ScriptLiteral.Table(
        type.Fields.Take(MaxFields).Select(field =>
            KeyValuePair.Create<object, string>(field.Name, EmptyOf(field))));

    private static string EmptyOf(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => "@{}",
        { IsRepeated: true } => "@()",
        { Kind: RpcFieldKind.Message or RpcFieldKind.Group } => "@{}",
        { Kind: RpcFieldKind.String or RpcFieldKind.Bytes } => "''",
        { Kind: RpcFieldKind.Bool } => "$false",
        { EnumType: { Values: [var first, ..] } } => ScriptLiteral.Format(first.Key),
        _ => "0",
    };
}

/// <summary>Lets a parameter of a service's command take text as the field of a message does: cells of a
/// table, dates in UTC, durations in seconds, bytes with a prefix.</summary>
/// <param name="kind">The name of a kind of text.</param>
[AttributeUsage(AttributeTargets.Property | AttributeTargets.Field)]
public sealed class RpcFieldTextAttribute(string kind) : ArgumentTransformationAttribute
{
    private readonly ArgumentText _kind = Enum.Parse<ArgumentText>(kind);

    /// <summary>Stands for no time: the shell converts null to neither type. Compare with
    /// <see cref="DateTimeOffset.EqualsExact"/>: no clock has this offset, but the same moment can be
    /// given.</summary>
    internal static DateTimeOffset NoTime { get; } = new(9999, 12, 31, 23, 59, 59, new TimeSpan(13, 59, 0));

    /// <summary>Stands for no duration.</summary>
    internal static TimeSpan NoDuration { get; } = TimeSpan.MinValue;

    /// <summary>Whether the shell also passes null to the attribute. The shell passes each parameter of each
    /// call, even those that are not given.</summary>
    public override bool TransformNullOptionalParameters =>
        _kind is ArgumentText.Timestamp or ArgumentText.Duration;

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData)
    {
        object? value = PSObjectModel.Instance.Unwrap(inputData);
        return value switch
        {
            null => Read("", inputData),
            string text => Read(_kind == ArgumentText.Bytes ? text : text.Trim(), inputData),
            byte[] bytes when _kind == ArgumentText.BytesList => new object[] { bytes },
            IConvertible when _kind == ArgumentText.Duration =>
                DurationText.TryReadSeconds(value, out long seconds, out int nanos)
                    ? WellKnownTime.ToTimeSpan(seconds, nanos)
                    : throw Invalid(inputData),
            // After a job, dates are objects that PowerShell would convert by their text.
            DateTimeOffset => value,
            _ => inputData,
        };
    }

    private object? Read(string text, object? given) => _kind switch
    {
        ArgumentText.Bool => ReadBool(text) ?? given,
        ArgumentText.List or ArgumentText.BytesList => ReadList(text) ?? given,
        ArgumentText.Timestamp when text.Length == 0 => NoTime,
        ArgumentText.Duration when text.Length == 0 => NoDuration,
        _ when text.Length == 0 => null,
        ArgumentText.Bytes => BytesReader.Read(text, PSObjectModel.Instance, out byte[] bytes) is { } problem
            ? throw new ArgumentTransformationMetadataException($"'{given}' {problem}")
            : bytes,
        ArgumentText.Timestamp => ReadTime(text) ?? throw Invalid(given),
        ArgumentText.Duration => DurationText.TryParse(text) ?? throw Invalid(given),
        _ => given,
    };

    private static object? ReadBool(string text) => text switch
    {
        "" or "0" => false,
        "1" => true,
        _ => bool.TryParse(text, out bool flag) ? flag : null,
    };

    private static object? ReadTime(string text) =>
        WellKnownTime.TryParseTimestamp(text, out long seconds, out int nanos)
        || WellKnownTime.TryParsePlainDate(text, out seconds, out nanos)
            ? WellKnownTime.ToDate(seconds, nanos)
            : null;

    private object[]? ReadList(string text)
    {
        if (text.Length == 0)
        {
            return [];
        }

        if (text[0] != '[')
        {
            return null;
        }

        try
        {
            using JsonDocument document = JsonDocument.Parse(text);
            return [.. document.RootElement.EnumerateArray().Select(ReadElement)];
        }
        catch (JsonException)
        {
            // Another text, which PowerShell converts or rejects.
            return null;
        }
    }

    // JSON contains bytes as base64.
    private object ReadElement(JsonElement element) => element.ValueKind != JsonValueKind.String
        ? element.GetRawText()
        : _kind == ArgumentText.BytesList
            && BytesReader.ReadBase64(element.GetString()!, out byte[] bytes) is null
            ? bytes
            : element.GetString()!;

    private ArgumentTransformationMetadataException Invalid(object? value) => new(
        $"'{value}' " + _kind switch
        {
            ArgumentText.Timestamp => "is not a time. Give a DateTime, a DateTimeOffset, or text such as "
                + "'2024-02-29' or '2024-02-29T12:30:00Z'.",
            _ => $"is not a duration. Give a TimeSpan, {DurationText.Forms}.",
        });
}
