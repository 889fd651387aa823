using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf.Collections;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Messages;

/// <summary>Finds required fields that are missing in messages of generated classes.</summary>
/// <remarks>The check of Google.Protobuf 3.36.2 reads every field of every message, and does not name the
/// missing field. Safe for use by many threads.</remarks>
internal sealed class GeneratedRequired
{
    // Compiling code for a type is worthwhile after this many messages.
    private const int MessagesBeforeCode = 500;

    private static readonly ConditionalWeakTable<MessageDescriptor, GeneratedRequired> Known = [];

    private readonly MessageDescriptor _type;
    private readonly FieldDescriptor[] _required;
    private readonly FieldDescriptor[] _toRequired;
    private readonly bool _mayHaveExtensions;
    private readonly bool _isFree;
    private GeneratedRequired[]? _held;
    private Func<IMessage, bool>? _code;
    private int _seen;

    private GeneratedRequired(MessageDescriptor type)
    {
        _type = type;
        _mayHaveExtensions = IsExtensible(type);
        _required = [.. type.Fields.InFieldNumberOrder().Where(field => field.IsRequired)];
        _toRequired = [.. type.Fields.InFieldNumberOrder()
            .Where(field => TypeIn(field) is { } held && Needs(held, []))];
        _isFree = !_mayHaveExtensions && _required.Length == 0 && _toRequired.Length == 0;
    }

    /// <summary>The path of the first field that must be set and is not, or null.</summary>
    public static string? FindMissing(IMessage message)
    {
        GeneratedRequired type = From(message.Descriptor);
        return type._isFree || (type.IsWorthCode(message) && type.IsComplete(message))
            ? null
            : type.Find(message, message.Descriptor.Name);
    }

    /// <summary>Whether all required fields are set, in the message and in nested ones, checked by code for
    /// its class.</summary>
    public bool IsComplete(IMessage message) => Code(message);

    /// <summary>The same for each message of a list.</summary>
    public bool AreComplete<TMessage>(RepeatedField<TMessage> list)
        where TMessage : class, IMessage
    {
        Func<IMessage, bool> code = Code;
        for (int i = 0; i < list.Count; i++)
        {
            if (!code(list[i]))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>The same for each message of a map.</summary>
    public bool AreComplete(IDictionary map) => FindIn(map) is null;

    /// <summary>Whether all is set that the extensions of a message require.</summary>
    /// <remarks>Only Google.Protobuf can list the extensions that are set. The check of 3.36.2 throws for a
    /// message with a group that is not repeated, or with a wrapper; such messages are taken as complete.
    /// </remarks>
    public static bool AreExtensionsComplete(IMessage message)
    {
        try
        {
            return message.IsInitialized();
        }
        catch (Exception e) when (e is InvalidCastException or ArgumentNullException)
        {
            return true;
        }
    }

    private Func<IMessage, bool> Code => _code ??=
        GeneratedRequiredCode.TryMake(_type, _required, _toRequired, Held, _mayHaveExtensions)
        ?? FindNone;

    private bool FindNone(IMessage message) => Find(message, "") is null;

    private static GeneratedRequired From(MessageDescriptor type) =>
        Known.TryGetValue(type, out GeneratedRequired? known)
            ? known
            : Known.GetValue(type, static key => new(key));

    // The code only works for the generated class of the descriptor.
    private bool IsWorthCode(IMessage message) =>
        (_code is not null || _seen > MessagesBeforeCode
            || Array.Exists(Held, held => held._seen > MessagesBeforeCode))
        && message.GetType() == _type.ClrType;

    // The types in _toRequired. Created on demand, because a type can contain itself.
    private GeneratedRequired[] Held => _held ??= [.. _toRequired.Select(to => From(TypeIn(to)!))];

    // The type of the messages in a field; null for a field without messages.
    private static MessageDescriptor? TypeIn(FieldDescriptor field) =>
        field.FieldType is not (FieldType.Message or FieldType.Group) ? null
        : field.IsMap ? TypeIn(field.MessageType.FindFieldByNumber(2))
        : field.MessageType;

    private static bool Needs(MessageDescriptor type, HashSet<MessageDescriptor> seen) => seen.Add(type)
        && (IsExtensible(type) || type.Fields.InFieldNumberOrder().Any(
            field => field.IsRequired || (TypeIn(field) is { } held && Needs(held, seen))));

    private static bool IsExtensible(MessageDescriptor type) => type.ToProto().ExtensionRange.Count > 0;

    // The path is only built if a field is missing.
    private string? Find(IMessage message, string path)
    {
        _seen++;
        foreach (FieldDescriptor field in _required)
        {
            if (!field.Accessor.HasValue(message))
            {
                return $"{path}.{field.Name}";
            }
        }

        for (int i = 0; i < _toRequired.Length; i++)
        {
            FieldDescriptor field = _toRequired[i];
            GeneratedRequired type = Held[i];
            string? missing = field.Accessor.GetValue(message) switch
            {
                IDictionary map => type.FindIn(map),
                IList list => type.FindIn(list),
                IMessage child => type.Find(child, ""),
                _ => null,
            };
            if (missing is not null)
            {
                return $"{path}.{field.Name}{missing}";
            }
        }

        return _mayHaveExtensions && !AreExtensionsComplete(message)
            ? $"{path}: a field of an extension"
            : null;
    }

    private string? FindIn(IList list)
    {
        for (int i = 0; i < list.Count; i++)
        {
            if (Find((IMessage)list[i]!, "") is { } missing)
            {
                return $"[{i}]{missing}";
            }
        }

        return null;
    }

    private string? FindIn(IDictionary map)
    {
        foreach (DictionaryEntry entry in map)
        {
            if (Find((IMessage)entry.Value!, "") is { } missing)
            {
                string key = Convert.ToString(entry.Key, CultureInfo.InvariantCulture)!;
                return $"[{ValueText.OfName(key)}]{missing}";
            }
        }

        return null;
    }
}

/// <summary>Compiles the check of <see cref="GeneratedRequired"/> for one generated class. The code reads the
/// properties of the class, which takes a tenth of the time of its descriptor's accessors.</summary>
internal static class GeneratedRequiredCode
{
    private static readonly MethodInfo IsListComplete = typeof(GeneratedRequired).GetMethods()
        .Single(method => method.Name == nameof(GeneratedRequired.AreComplete) && method.IsGenericMethod);

    /// <summary>The compiled check; null if code cannot be compiled, or properties were removed by the
    /// trimmer.</summary>
    /// <param name="type">The class.</param>
    /// <param name="required">Its required fields.</param>
    /// <param name="toRequired">Its fields whose messages have required ones.</param>
    /// <param name="held">The types of these messages.</param>
    /// <param name="mayHaveExtensions">Whether extensions may have required fields.</param>
    public static Func<IMessage, bool>? TryMake(
        MessageDescriptor type, FieldDescriptor[] required, FieldDescriptor[] toRequired,
        GeneratedRequired[] held, bool mayHaveExtensions)
    {
        // The NativeAOT compiler then omits the rest of the method.
        if (!RuntimeFeature.IsDynamicCodeSupported)
        {
            return null;
        }

        if (!RuntimeFeature.IsDynamicCodeCompiled || type.ClrType is not { } message)
        {
            return null;
        }

        ParameterExpression given = Expression.Parameter(typeof(IMessage));
        ParameterExpression typed = Expression.Variable(message);
        List<Expression?> checks =
        [
            .. required.Select(field => IsSet(typed, field)),
            .. toRequired.Zip(held, (field, inner) => IsHeldComplete(typed, field, inner)),
        ];
        if (mayHaveExtensions)
        {
            Func<IMessage, bool> areComplete = GeneratedRequired.AreExtensionsComplete;
            checks.Add(Expression.Call(areComplete.Method, typed));
        }

        return checks.Contains(null) ? null : Expression.Lambda<Func<IMessage, bool>>(
            Expression.Block(
                [typed],
                Expression.Assign(typed, Expression.Convert(given, message)),
                checks.Aggregate((all, check) => Expression.AndAlso(all!, check!))!),
            given).Compile();
    }

    // A message is set if it is not null. All other fields have a Has property. Wrappers are nullable
    // numbers, so there is no code for them.
    private static Expression? IsSet(Expression message, FieldDescriptor field) =>
        field.FieldType is FieldType.Message or FieldType.Group
            ? Get(message, field.PropertyName) is { Type.IsValueType: false } value ? IsThere(value) : null
            : Get(message, $"Has{field.PropertyName}") is { } has && has.Type == typeof(bool) ? has : null;

    [UnconditionalSuppressMessage(
        "AOT", "IL3050", Justification = "Not called where code cannot be made at run time.")]
    [UnconditionalSuppressMessage(
        "Trimming", "IL2060", Justification = "The method needs nothing of its type argument.")]
    private static Expression? IsHeldComplete(
        Expression message, FieldDescriptor field, GeneratedRequired inner)
    {
        if (Get(message, field.PropertyName) is not { } held)
        {
            return null;
        }

        ConstantExpression check = Expression.Constant(inner);
        Func<IDictionary, bool> isMapComplete = inner.AreComplete;
        return field.IsMap ? Expression.Call(check, isMapComplete.Method, held)
            : field.IsRepeated
                ? Expression.Call(
                    check, IsListComplete.MakeGenericMethod(held.Type.GetGenericArguments()), held)
            : Expression.OrElse(
                Expression.Not(IsThere(held)),
                Expression.Call(check, new Func<IMessage, bool>(inner.IsComplete).Method, held));
    }

    private static BinaryExpression IsThere(Expression value) =>
        Expression.ReferenceNotEqual(value, Expression.Constant(null));

    [UnconditionalSuppressMessage(
        "Trimming", "IL2075", Justification = "Without its property a class is checked by its accessors.")]
    private static MemberExpression? Get(Expression message, string name) =>
        message.Type.GetProperty(name) is { GetMethod.IsStatic: false } property
            ? Expression.Property(message, property)
            : null;
}
