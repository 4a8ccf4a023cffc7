; ModuleID = 'bank.c'
source_filename = "bank.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.account = type { %union.pthread_mutex_t, i32, i16, %struct.anon, %union.anon, %union.anon.0, [16 x i8] }
%union.pthread_mutex_t = type { %struct.__pthread_mutex_s }
%struct.__pthread_mutex_s = type { i32, i32, i32, i32, i32, i16, i16, %struct.__pthread_internal_list }
%struct.__pthread_internal_list = type { ptr, ptr }
%struct.anon = type { i64, i64 }
%union.anon = type { i32 }
%union.anon.0 = type { i32 }
%struct.point = type { i32, i32 }
%struct.__va_list_tag = type { i32, i32, ptr, ptr }

@accounts = dso_local global [4 x %struct.account] zeroinitializer, align 16, !dbg !0
@oldest = dso_local global ptr getelementptr (i8, ptr @accounts, i64 144), align 8, !dbg !12
@steps = dso_local constant [2 x ptr] [ptr @add, ptr @take], align 16, !dbg !16
@deposit.calls = internal global i32 0, align 4, !dbg !26
@origin = dso_local global %struct.point zeroinitializer, align 4, !dbg !101
@favourite = internal global ptr getelementptr (i8, ptr @accounts, i64 176), align 8, !dbg !113
@depth = internal thread_local global i32 0, align 4, !dbg !108
@stop = dso_local global i32 0, align 4, !dbg !110
@jump.places = internal constant [2 x ptr] [ptr blockaddress(@jump, %41), ptr blockaddress(@jump, %44)], align 16, !dbg !93
@.str = private unnamed_addr constant [7 x i8] c"atomic\00", section "llvm.metadata"
@.str.1 = private unnamed_addr constant [7 x i8] c"bank.c\00", section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @deposit, ptr @.str, ptr @.str.1, i32 40, ptr null }], section "llvm.metadata"

@deposit_again = dso_local alias i32 (ptr, i32), ptr @deposit

; Function Attrs: noinline nounwind optnone uwtable
define internal i32 @add(i32 noundef %0, i32 noundef %1) #0 !dbg !124 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
    #dbg_declare(ptr %3, !125, !DIExpression(), !126)
  store i32 %1, ptr %4, align 4
    #dbg_declare(ptr %4, !127, !DIExpression(), !128)
  %5 = load i32, ptr %3, align 4, !dbg !129
  %6 = load i32, ptr %4, align 4, !dbg !130
  %7 = add nsw i32 %5, %6, !dbg !131
  ret i32 %7, !dbg !132
}

; Function Attrs: noinline nounwind optnone uwtable
define internal i32 @take(i32 noundef %0, i32 noundef %1) #0 !dbg !133 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
    #dbg_declare(ptr %3, !134, !DIExpression(), !135)
  store i32 %1, ptr %4, align 4
    #dbg_declare(ptr %4, !136, !DIExpression(), !137)
  %5 = load i32, ptr %3, align 4, !dbg !138
  %6 = load i32, ptr %4, align 4, !dbg !139
  %7 = sub nsw i32 %5, %6, !dbg !140
  ret i32 %7, !dbg !141
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @deposit(ptr noundef %0, i32 noundef %1) #0 !dbg !28 {
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !142, !DIExpression(), !143)
  store i32 %1, ptr %4, align 4
    #dbg_declare(ptr %4, !144, !DIExpression(), !145)
  %6 = load ptr, ptr %3, align 8, !dbg !146
  %7 = getelementptr inbounds %struct.account, ptr %6, i32 0, i32 0, !dbg !147
  %8 = call i32 @pthread_mutex_lock(ptr noundef %7) #6, !dbg !148
  %9 = load i32, ptr @deposit.calls, align 4, !dbg !149
  %10 = add nsw i32 %9, 1, !dbg !149
  store i32 %10, ptr @deposit.calls, align 4, !dbg !149
  %11 = load i32, ptr %4, align 4, !dbg !150
  %12 = load ptr, ptr %3, align 8, !dbg !151
  %13 = getelementptr inbounds %struct.account, ptr %12, i32 0, i32 1, !dbg !152
  %14 = load i32, ptr %13, align 8, !dbg !153
  %15 = add nsw i32 %14, %11, !dbg !153
  store i32 %15, ptr %13, align 8, !dbg !153
  %16 = load ptr, ptr %3, align 8, !dbg !154
  %17 = getelementptr inbounds %struct.account, ptr %16, i32 0, i32 2, !dbg !155
  %18 = load i16, ptr %17, align 4, !dbg !156
  %19 = and i16 %18, -2, !dbg !156
  %20 = or i16 %19, 1, !dbg !156
  store i16 %20, ptr %17, align 4, !dbg !156
    #dbg_declare(ptr %5, !157, !DIExpression(), !158)
  %21 = load ptr, ptr %3, align 8, !dbg !159
  %22 = getelementptr inbounds %struct.account, ptr %21, i32 0, i32 1, !dbg !160
  %23 = load i32, ptr %22, align 8, !dbg !160
  store i32 %23, ptr %5, align 4, !dbg !158
  %24 = load ptr, ptr %3, align 8, !dbg !161
  %25 = getelementptr inbounds %struct.account, ptr %24, i32 0, i32 0, !dbg !162
  %26 = call i32 @pthread_mutex_unlock(ptr noundef %25) #6, !dbg !163
  %27 = load i32, ptr %5, align 4, !dbg !164
  ret i32 %27, !dbg !165
}

; Function Attrs: nounwind
declare i32 @pthread_mutex_lock(ptr noundef) #1

; Function Attrs: nounwind
declare i32 @pthread_mutex_unlock(ptr noundef) #1

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i64 @sum(i32 noundef %0) #0 !dbg !166 {
  %2 = alloca i32, align 4
  %3 = alloca i64, align 8
  %4 = alloca i32, align 4
  store i32 %0, ptr %2, align 4
    #dbg_declare(ptr %2, !169, !DIExpression(), !170)
    #dbg_declare(ptr %3, !171, !DIExpression(), !172)
  store i64 0, ptr %3, align 8, !dbg !172
    #dbg_declare(ptr %4, !173, !DIExpression(), !175)
  store i32 0, ptr %4, align 4, !dbg !175
  br label %5, !dbg !176

5:                                                ; preds = %40, %1
  %6 = load i32, ptr %4, align 4, !dbg !177
  %7 = load i32, ptr %2, align 4, !dbg !179
  %8 = icmp slt i32 %6, %7, !dbg !180
  br i1 %8, label %9, label %43, !dbg !181

9:                                                ; preds = %5
  %10 = load i32, ptr %4, align 4, !dbg !182
  %11 = and i32 %10, 3, !dbg !184
  switch i32 %11, label %31 [
    i32 0, label %12
    i32 1, label %21
    i32 2, label %30
  ], !dbg !185

12:                                               ; preds = %9
  %13 = load i32, ptr %4, align 4, !dbg !186
  %14 = sext i32 %13 to i64, !dbg !188
  %15 = getelementptr inbounds [4 x %struct.account], ptr @accounts, i64 0, i64 %14, !dbg !188
  %16 = getelementptr inbounds %struct.account, ptr %15, i32 0, i32 1, !dbg !189
  %17 = load i32, ptr %16, align 8, !dbg !189
  %18 = sext i32 %17 to i64, !dbg !188
  %19 = load i64, ptr %3, align 8, !dbg !190
  %20 = add nsw i64 %19, %18, !dbg !190
  store i64 %20, ptr %3, align 8, !dbg !190
  br label %39, !dbg !191

21:                                               ; preds = %9
  %22 = load i32, ptr %4, align 4, !dbg !192
  %23 = sext i32 %22 to i64, !dbg !193
  %24 = getelementptr inbounds [4 x %struct.account], ptr @accounts, i64 0, i64 %23, !dbg !193
  %25 = getelementptr inbounds %struct.account, ptr %24, i32 0, i32 3, !dbg !194
  %26 = getelementptr inbounds %struct.anon, ptr %25, i32 0, i32 0, !dbg !195
  %27 = load i64, ptr %26, align 8, !dbg !195
  %28 = load i64, ptr %3, align 8, !dbg !196
  %29 = sub nsw i64 %28, %27, !dbg !196
  store i64 %29, ptr %3, align 8, !dbg !196
  br label %39, !dbg !197

30:                                               ; preds = %9
  br label %40, !dbg !198

31:                                               ; preds = %9
  %32 = load i32, ptr %4, align 4, !dbg !199
  %33 = sext i32 %32 to i64, !dbg !200
  %34 = getelementptr inbounds [16 x i8], ptr getelementptr inbounds (%struct.account, ptr getelementptr inbounds ([4 x %struct.account], ptr @accounts, i64 0, i64 3), i32 0, i32 6), i64 0, i64 %33, !dbg !200
  %35 = load i8, ptr %34, align 1, !dbg !200
  %36 = sext i8 %35 to i64, !dbg !200
  %37 = load i64, ptr %3, align 8, !dbg !201
  %38 = add nsw i64 %37, %36, !dbg !201
  store i64 %38, ptr %3, align 8, !dbg !201
  br label %39, !dbg !202

39:                                               ; preds = %31, %21, %12
  br label %40, !dbg !203

40:                                               ; preds = %39, %30
  %41 = load i32, ptr %4, align 4, !dbg !204
  %42 = add nsw i32 %41, 1, !dbg !204
  store i32 %42, ptr %4, align 4, !dbg !204
  br label %5, !dbg !205, !llvm.loop !206

43:                                               ; preds = %5
  %44 = load i64, ptr %3, align 8, !dbg !209
  %45 = icmp ne i64 %44, 0, !dbg !209
  br i1 %45, label %46, label %48, !dbg !209

46:                                               ; preds = %43
  %47 = load i64, ptr %3, align 8, !dbg !210
  br label %49, !dbg !209

48:                                               ; preds = %43
  br label %49, !dbg !209

49:                                               ; preds = %48, %46
  %50 = phi i64 [ %47, %46 ], [ -1, %48 ], !dbg !209
  ret i64 %50, !dbg !211
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @step(i32 noundef %0, i32 noundef %1) #0 !dbg !212 {
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
    #dbg_declare(ptr %3, !215, !DIExpression(), !216)
  store i32 %1, ptr %4, align 4
    #dbg_declare(ptr %4, !217, !DIExpression(), !218)
  %5 = load i32, ptr %3, align 4, !dbg !219
  %6 = zext i32 %5 to i64, !dbg !220
  %7 = getelementptr inbounds [2 x ptr], ptr @steps, i64 0, i64 %6, !dbg !220
  %8 = load ptr, ptr %7, align 8, !dbg !220
  %9 = load i32, ptr %4, align 4, !dbg !221
  %10 = load i32, ptr @origin, align 4, !dbg !222
  %11 = call i32 %8(i32 noundef %9, i32 noundef %10), !dbg !220
  ret i32 %11, !dbg !223
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local void @renew(i64 %0, ptr noundef byval(%struct.account) align 8 %1) #0 !dbg !224 {
  %3 = alloca %struct.point, align 4
  store i64 %0, ptr %3, align 4
    #dbg_declare(ptr %3, !227, !DIExpression(), !228)
    #dbg_declare(ptr %1, !229, !DIExpression(), !230)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 @origin, ptr align 4 %3, i64 8, i1 false), !dbg !231
  %4 = getelementptr inbounds %struct.point, ptr %3, i32 0, i32 0, !dbg !232
  %5 = load i32, ptr %4, align 4, !dbg !232
  store i32 %5, ptr getelementptr inbounds (%struct.point, ptr @origin, i32 0, i32 1), align 4, !dbg !233
  %6 = getelementptr inbounds %struct.account, ptr %1, i32 0, i32 3, !dbg !234
  %7 = getelementptr inbounds %struct.anon, ptr %6, i32 0, i32 0, !dbg !235
  %8 = load i64, ptr %7, align 8, !dbg !235
  store i64 %8, ptr getelementptr inbounds (%struct.account, ptr getelementptr inbounds ([4 x %struct.account], ptr @accounts, i64 0, i64 1), i32 0, i32 3), align 8, !dbg !236
  %9 = getelementptr inbounds %struct.account, ptr %1, i32 0, i32 0, !dbg !237
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 @accounts, ptr align 8 %9, i64 40, i1 false), !dbg !237
  %10 = load ptr, ptr @favourite, align 8, !dbg !238
  %11 = getelementptr inbounds %struct.account, ptr %10, i32 0, i32 4, !dbg !239
  store float 1.500000e+00, ptr %11, align 8, !dbg !240
  %12 = load ptr, ptr @favourite, align 8, !dbg !241
  %13 = getelementptr inbounds %struct.account, ptr %12, i32 0, i32 5, !dbg !242
  store i32 7, ptr %13, align 4, !dbg !243
  store i32 3, ptr getelementptr inbounds (%struct.account, ptr @accounts, i32 0, i32 4), align 16, !dbg !244
  %14 = load ptr, ptr @favourite, align 8, !dbg !245
  %15 = getelementptr inbounds %struct.account, ptr %14, i32 0, i32 6, !dbg !246
  %16 = getelementptr inbounds [16 x i8], ptr %15, i64 0, i64 0, !dbg !247
  %17 = getelementptr inbounds %struct.account, ptr %1, i32 0, i32 6, !dbg !248
  %18 = getelementptr inbounds [16 x i8], ptr %17, i64 0, i64 0, !dbg !247
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %16, ptr align 8 %18, i64 16, i1 false), !dbg !247
  %19 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @depth), !dbg !249
  %20 = load i32, ptr %19, align 4, !dbg !250
  %21 = add nsw i32 %20, 1, !dbg !250
  store i32 %21, ptr %19, align 4, !dbg !250
  ret void, !dbg !251
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #3

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @update(ptr noundef %0, i32 noundef %1) #0 !dbg !252 {
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i8, align 1
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
    #dbg_declare(ptr %3, !256, !DIExpression(), !257)
  store i32 %1, ptr %4, align 4
    #dbg_declare(ptr %4, !258, !DIExpression(), !259)
    #dbg_declare(ptr %5, !260, !DIExpression(), !261)
  %12 = load ptr, ptr %3, align 8, !dbg !262
  %13 = load atomic i32, ptr %12 acquire, align 4, !dbg !263
  store i32 %13, ptr %6, align 4, !dbg !263
  %14 = load i32, ptr %6, align 4, !dbg !263
  store i32 %14, ptr %5, align 4, !dbg !261
  br label %15, !dbg !264

15:                                               ; preds = %36, %2
  %16 = load i32, ptr %5, align 4, !dbg !265
  %17 = load i32, ptr %4, align 4, !dbg !266
  %18 = icmp slt i32 %16, %17, !dbg !267
  br i1 %18, label %19, label %34, !dbg !268

19:                                               ; preds = %15
  %20 = load ptr, ptr %3, align 8, !dbg !269
  %21 = load i32, ptr %5, align 4, !dbg !270
  %22 = add nsw i32 %21, 1, !dbg !271
  store i32 %22, ptr %7, align 4, !dbg !272
  %23 = load i32, ptr %5, align 4, !dbg !272
  %24 = load i32, ptr %7, align 4, !dbg !272
  %25 = cmpxchg weak ptr %20, i32 %23, i32 %24 seq_cst seq_cst, align 4, !dbg !272
  %26 = extractvalue { i32, i1 } %25, 0, !dbg !272
  %27 = extractvalue { i32, i1 } %25, 1, !dbg !272
  br i1 %27, label %29, label %28, !dbg !272

28:                                               ; preds = %19
  store i32 %26, ptr %5, align 4, !dbg !272
  br label %29, !dbg !272

29:                                               ; preds = %28, %19
  %30 = zext i1 %27 to i8, !dbg !272
  store i8 %30, ptr %8, align 1, !dbg !272
  %31 = load i8, ptr %8, align 1, !dbg !272
  %32 = trunc i8 %31 to i1, !dbg !272
  %33 = xor i1 %32, true, !dbg !273
  br label %34

34:                                               ; preds = %29, %15
  %35 = phi i1 [ false, %15 ], [ %33, %29 ], !dbg !274
  br i1 %35, label %36, label %37, !dbg !264

36:                                               ; preds = %34
  br label %15, !dbg !264, !llvm.loop !275

37:                                               ; preds = %34
  store i32 1, ptr %9, align 4, !dbg !277
  %38 = load i32, ptr %9, align 4, !dbg !277
  %39 = atomicrmw add ptr getelementptr inbounds (%struct.account, ptr @accounts, i32 0, i32 1), i32 %38 seq_cst, align 8, !dbg !277
  store i32 %39, ptr %10, align 4, !dbg !277
  %40 = load i32, ptr %10, align 4, !dbg !277
  store i32 1, ptr %11, align 4, !dbg !278
  %41 = load i32, ptr %11, align 4, !dbg !278
  store atomic volatile i32 %41, ptr @stop release, align 4, !dbg !278
  %42 = load i32, ptr %5, align 4, !dbg !279
  %43 = call i32 @deposit_again(ptr noundef @accounts, i32 noundef %42), !dbg !280
  ret i32 %43, !dbg !281
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @jump(i32 noundef %0, ...) #0 !dbg !95 {
  %2 = alloca i32, align 4
  %3 = alloca i32, align 4
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca [1 x %struct.__va_list_tag], align 16
  %7 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
    #dbg_declare(ptr %3, !282, !DIExpression(), !283)
  %8 = load i32, ptr %3, align 4, !dbg !284
  %9 = zext i32 %8 to i64, !dbg !285
  %10 = call ptr @llvm.stacksave.p0(), !dbg !285
  store ptr %10, ptr %4, align 8, !dbg !285
  %11 = alloca i32, i64 %9, align 16, !dbg !285
  store i64 %9, ptr %5, align 8, !dbg !285
    #dbg_declare(ptr %5, !286, !DIExpression(), !288)
    #dbg_declare(ptr %11, !289, !DIExpression(), !293)
    #dbg_declare(ptr %6, !294, !DIExpression(), !305)
  %12 = getelementptr inbounds [1 x %struct.__va_list_tag], ptr %6, i64 0, i64 0, !dbg !306
  call void @llvm.va_start.p0(ptr %12), !dbg !306
  %13 = getelementptr inbounds [1 x %struct.__va_list_tag], ptr %6, i64 0, i64 0, !dbg !307
  %14 = getelementptr inbounds %struct.__va_list_tag, ptr %13, i32 0, i32 0, !dbg !307
  %15 = load i32, ptr %14, align 16, !dbg !307
  %16 = icmp ule i32 %15, 40, !dbg !307
  br i1 %16, label %17, label %22, !dbg !307

17:                                               ; preds = %1
  %18 = getelementptr inbounds %struct.__va_list_tag, ptr %13, i32 0, i32 3, !dbg !307
  %19 = load ptr, ptr %18, align 16, !dbg !307
  %20 = getelementptr i8, ptr %19, i32 %15, !dbg !307
  %21 = add i32 %15, 8, !dbg !307
  store i32 %21, ptr %14, align 16, !dbg !307
  br label %26, !dbg !307

22:                                               ; preds = %1
  %23 = getelementptr inbounds %struct.__va_list_tag, ptr %13, i32 0, i32 2, !dbg !307
  %24 = load ptr, ptr %23, align 8, !dbg !307
  %25 = getelementptr i8, ptr %24, i32 8, !dbg !307
  store ptr %25, ptr %23, align 8, !dbg !307
  br label %26, !dbg !307

26:                                               ; preds = %22, %17
  %27 = phi ptr [ %20, %17 ], [ %24, %22 ], !dbg !307
  %28 = load i32, ptr %27, align 4, !dbg !307
  %29 = load i32, ptr %3, align 4, !dbg !308
  %30 = sub nsw i32 %29, 1, !dbg !309
  %31 = sext i32 %30 to i64, !dbg !310
  %32 = getelementptr inbounds i32, ptr %11, i64 %31, !dbg !310
  store i32 %28, ptr %32, align 4, !dbg !311
  %33 = getelementptr inbounds [1 x %struct.__va_list_tag], ptr %6, i64 0, i64 0, !dbg !312
  call void @llvm.va_end.p0(ptr %33), !dbg !312
  %34 = load i32, ptr %3, align 4, !dbg !313
  %35 = call i32 asm sideeffect "", "=r,0,~{memory},~{dirflag},~{fpsr},~{flags}"(i32 %34) #6, !dbg !313, !srcloc !314
  store i32 %35, ptr %3, align 4, !dbg !313
  %36 = load i32, ptr %3, align 4, !dbg !315
  %37 = and i32 %36, 1, !dbg !316
  %38 = sext i32 %37 to i64, !dbg !317
  %39 = getelementptr inbounds [2 x ptr], ptr @jump.places, i64 0, i64 %38, !dbg !317
  %40 = load ptr, ptr %39, align 8, !dbg !317
  br label %50, !dbg !318

41:                                               ; preds = %50
    #dbg_label(!319, !320)
  %42 = getelementptr inbounds i32, ptr %11, i64 0, !dbg !321
  %43 = load i32, ptr %42, align 16, !dbg !321
  store i32 %43, ptr %2, align 4, !dbg !322
  store i32 1, ptr %7, align 4
  br label %47, !dbg !322

44:                                               ; preds = %50
    #dbg_label(!323, !324)
  %45 = load i32, ptr %3, align 4, !dbg !325
  %46 = call i32 (i32, ...) @jump(i32 noundef 1, i32 noundef %45, double noundef 2.000000e+00), !dbg !326
  store i32 %46, ptr %2, align 4, !dbg !327
  store i32 1, ptr %7, align 4
  br label %47, !dbg !327

47:                                               ; preds = %44, %41
  %48 = load ptr, ptr %4, align 8, !dbg !328
  call void @llvm.stackrestore.p0(ptr %48), !dbg !328
  %49 = load i32, ptr %2, align 4, !dbg !328
  ret i32 %49, !dbg !328

50:                                               ; preds = %26
  %51 = phi ptr [ %40, %26 ]
  indirectbr ptr %51, [label %41, label %44]
}

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #4

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare void @llvm.va_start.p0(ptr) #4

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare void @llvm.va_end.p0(ptr) #4

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #4

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @main() #0 !dbg !329 {
  %1 = alloca i32, align 4
  %2 = alloca i64, align 8
  store i32 0, ptr %1, align 4
    #dbg_declare(ptr %2, !332, !DIExpression(), !334)
  %3 = call i32 @pthread_create(ptr noundef %2, ptr noundef null, ptr noundef @worker, ptr noundef getelementptr inbounds ([4 x %struct.account], ptr @accounts, i64 0, i64 1)) #6, !dbg !335
  %4 = icmp ne i32 %3, 0, !dbg !335
  br i1 %4, label %5, label %6, !dbg !337

5:                                                ; preds = %0
  store i32 1, ptr %1, align 4, !dbg !338
  br label %10, !dbg !338

6:                                                ; preds = %0
  %7 = call i32 @update(ptr noundef getelementptr inbounds (%struct.account, ptr getelementptr inbounds ([4 x %struct.account], ptr @accounts, i64 0, i64 2), i32 0, i32 1), i32 noundef 3), !dbg !339
  %8 = load i64, ptr %2, align 8, !dbg !340
  %9 = call i32 @pthread_join(i64 noundef %8, ptr noundef null), !dbg !341
  store i32 %9, ptr %1, align 4, !dbg !342
  br label %10, !dbg !342

10:                                               ; preds = %6, %5
  %11 = load i32, ptr %1, align 4, !dbg !343
  ret i32 %11, !dbg !343
}

; Function Attrs: nounwind
declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef) #1

; Function Attrs: noinline nounwind optnone uwtable
define internal ptr @worker(ptr noundef %0) #0 !dbg !344 {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
    #dbg_declare(ptr %2, !347, !DIExpression(), !348)
    #dbg_declare(ptr %3, !349, !DIExpression(), !350)
  %4 = load ptr, ptr %2, align 8, !dbg !351
  store ptr %4, ptr %3, align 8, !dbg !350
  %5 = load ptr, ptr %3, align 8, !dbg !352
  %6 = call i32 @deposit(ptr noundef %5, i32 noundef 1), !dbg !353
  ret ptr null, !dbg !354
}

declare i32 @pthread_join(i64 noundef, ptr noundef) #5

attributes #0 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nocallback nofree nosync nounwind willreturn }
attributes #5 = { "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #6 = { nounwind }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!116, !117, !118, !119, !120, !121, !122}
!llvm.ident = !{!123}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "accounts", scope: !2, file: !3, line: 29, type: !115, isLocal: false, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C11, file: !3, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, enums: !4, globals: !11, splitDebugInlining: false, nameTableKind: None)
!3 = !DIFile(filename: "bank.c", directory: ".", checksumkind: CSK_MD5, checksum: "8057456d9e8aa69017eb11a289dd2e44")
!4 = !{!5}
!5 = !DICompositeType(tag: DW_TAG_enumeration_type, name: "kind", file: !3, line: 27, baseType: !6, size: 32, elements: !7)
!6 = !DIBasicType(name: "unsigned int", size: 32, encoding: DW_ATE_unsigned)
!7 = !{!8, !9, !10}
!8 = !DIEnumerator(name: "IN", value: 0)
!9 = !DIEnumerator(name: "OUT", value: 1)
!10 = !DIEnumerator(name: "NONE", value: 2)
!11 = !{!12, !16, !26, !93, !0, !101, !108, !110, !113}
!12 = !DIGlobalVariableExpression(var: !13, expr: !DIExpression())
!13 = distinct !DIGlobalVariable(name: "oldest", scope: !2, file: !3, line: 33, type: !14, isLocal: false, isDefinition: true)
!14 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !15, size: 64)
!15 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
!16 = !DIGlobalVariableExpression(var: !17, expr: !DIExpression())
!17 = distinct !DIGlobalVariable(name: "steps", scope: !2, file: !3, line: 38, type: !18, isLocal: false, isDefinition: true)
!18 = !DICompositeType(tag: DW_TAG_array_type, baseType: !19, size: 128, elements: !24)
!19 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !20)
!20 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64)
!21 = !DISubroutineType(types: !22)
!22 = !{!23, !23, !23}
!23 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!24 = !{!25}
!25 = !DISubrange(count: 2)
!26 = !DIGlobalVariableExpression(var: !27, expr: !DIExpression())
!27 = distinct !DIGlobalVariable(name: "calls", scope: !28, file: !3, line: 41, type: !23, isLocal: true, isDefinition: true)
!28 = distinct !DISubprogram(name: "deposit", scope: !3, file: !3, line: 40, type: !29, scopeLine: 40, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!29 = !DISubroutineType(types: !30)
!30 = !{!23, !31, !23}
!31 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !32, size: 64)
!32 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "account", file: !3, line: 5, size: 704, elements: !33)
!33 = !{!34, !65, !66, !67, !68, !69, !74, !80, !88}
!34 = !DIDerivedType(tag: DW_TAG_member, name: "lock", scope: !32, file: !3, line: 6, baseType: !35, size: 320)
!35 = !DIDerivedType(tag: DW_TAG_typedef, name: "pthread_mutex_t", file: !36, line: 72, baseType: !37)
!36 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/pthreadtypes.h", directory: "", checksumkind: CSK_MD5, checksum: "735e3bf264ff9d8f5d95898b1692fbdb")
!37 = distinct !DICompositeType(tag: DW_TAG_union_type, file: !36, line: 67, size: 320, elements: !38)
!38 = !{!39, !59, !64}
!39 = !DIDerivedType(tag: DW_TAG_member, name: "__data", scope: !37, file: !36, line: 69, baseType: !40, size: 320)
!40 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "__pthread_mutex_s", file: !41, line: 22, size: 320, elements: !42)
!41 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/struct_mutex.h", directory: "", checksumkind: CSK_MD5, checksum: "584baedd80e6041b81caae7f496091c0")
!42 = !{!43, !44, !45, !46, !47, !48, !50, !51}
!43 = !DIDerivedType(tag: DW_TAG_member, name: "__lock", scope: !40, file: !41, line: 24, baseType: !23, size: 32)
!44 = !DIDerivedType(tag: DW_TAG_member, name: "__count", scope: !40, file: !41, line: 25, baseType: !6, size: 32, offset: 32)
!45 = !DIDerivedType(tag: DW_TAG_member, name: "__owner", scope: !40, file: !41, line: 26, baseType: !23, size: 32, offset: 64)
!46 = !DIDerivedType(tag: DW_TAG_member, name: "__nusers", scope: !40, file: !41, line: 28, baseType: !6, size: 32, offset: 96)
!47 = !DIDerivedType(tag: DW_TAG_member, name: "__kind", scope: !40, file: !41, line: 32, baseType: !23, size: 32, offset: 128)
!48 = !DIDerivedType(tag: DW_TAG_member, name: "__spins", scope: !40, file: !41, line: 34, baseType: !49, size: 16, offset: 160)
!49 = !DIBasicType(name: "short", size: 16, encoding: DW_ATE_signed)
!50 = !DIDerivedType(tag: DW_TAG_member, name: "__elision", scope: !40, file: !41, line: 35, baseType: !49, size: 16, offset: 176)
!51 = !DIDerivedType(tag: DW_TAG_member, name: "__list", scope: !40, file: !41, line: 36, baseType: !52, size: 128, offset: 192)
!52 = !DIDerivedType(tag: DW_TAG_typedef, name: "__pthread_list_t", file: !53, line: 55, baseType: !54)
!53 = !DIFile(filename: "/usr/include/x86_64-linux-gnu/bits/thread-shared-types.h", directory: "", checksumkind: CSK_MD5, checksum: "04c81e86d34dad9c99ad006d32e47a0d")
!54 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "__pthread_internal_list", file: !53, line: 51, size: 128, elements: !55)
!55 = !{!56, !58}
!56 = !DIDerivedType(tag: DW_TAG_member, name: "__prev", scope: !54, file: !53, line: 53, baseType: !57, size: 64)
!57 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !54, size: 64)
!58 = !DIDerivedType(tag: DW_TAG_member, name: "__next", scope: !54, file: !53, line: 54, baseType: !57, size: 64, offset: 64)
!59 = !DIDerivedType(tag: DW_TAG_member, name: "__size", scope: !37, file: !36, line: 70, baseType: !60, size: 320)
!60 = !DICompositeType(tag: DW_TAG_array_type, baseType: !61, size: 320, elements: !62)
!61 = !DIBasicType(name: "char", size: 8, encoding: DW_ATE_signed_char)
!62 = !{!63}
!63 = !DISubrange(count: 40)
!64 = !DIDerivedType(tag: DW_TAG_member, name: "__align", scope: !37, file: !36, line: 71, baseType: !15, size: 64)
!65 = !DIDerivedType(tag: DW_TAG_member, name: "balance", scope: !32, file: !3, line: 7, baseType: !23, size: 32, offset: 320)
!66 = !DIDerivedType(tag: DW_TAG_member, name: "open", scope: !32, file: !3, line: 8, baseType: !6, size: 1, offset: 352, flags: DIFlagBitField, extraData: i64 352)
!67 = !DIDerivedType(tag: DW_TAG_member, name: "frozen", scope: !32, file: !3, line: 8, baseType: !6, size: 1, offset: 353, flags: DIFlagBitField, extraData: i64 352)
!68 = !DIDerivedType(tag: DW_TAG_member, name: "branch", scope: !32, file: !3, line: 8, baseType: !6, size: 10, offset: 354, flags: DIFlagBitField, extraData: i64 352)
!69 = !DIDerivedType(tag: DW_TAG_member, name: "days", scope: !32, file: !3, line: 11, baseType: !70, size: 128, offset: 384)
!70 = distinct !DICompositeType(tag: DW_TAG_structure_type, scope: !32, file: !3, line: 9, size: 128, elements: !71)
!71 = !{!72, !73}
!72 = !DIDerivedType(tag: DW_TAG_member, name: "first", scope: !70, file: !3, line: 10, baseType: !15, size: 64)
!73 = !DIDerivedType(tag: DW_TAG_member, name: "last", scope: !70, file: !3, line: 10, baseType: !15, size: 64, offset: 64)
!74 = !DIDerivedType(tag: DW_TAG_member, name: "rate", scope: !32, file: !3, line: 15, baseType: !75, size: 32, offset: 512)
!75 = distinct !DICompositeType(tag: DW_TAG_union_type, scope: !32, file: !3, line: 12, size: 32, elements: !76)
!76 = !{!77, !78}
!77 = !DIDerivedType(tag: DW_TAG_member, name: "whole", scope: !75, file: !3, line: 13, baseType: !23, size: 32)
!78 = !DIDerivedType(tag: DW_TAG_member, name: "part", scope: !75, file: !3, line: 14, baseType: !79, size: 32)
!79 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!80 = !DIDerivedType(tag: DW_TAG_member, scope: !32, file: !3, line: 16, baseType: !81, size: 32, offset: 544)
!81 = distinct !DICompositeType(tag: DW_TAG_union_type, scope: !32, file: !3, line: 16, size: 32, elements: !82)
!82 = !{!83, !84}
!83 = !DIDerivedType(tag: DW_TAG_member, name: "tag", scope: !81, file: !3, line: 17, baseType: !23, size: 32)
!84 = !DIDerivedType(tag: DW_TAG_member, name: "letters", scope: !81, file: !3, line: 18, baseType: !85, size: 32)
!85 = !DICompositeType(tag: DW_TAG_array_type, baseType: !61, size: 32, elements: !86)
!86 = !{!87}
!87 = !DISubrange(count: 4)
!88 = !DIDerivedType(tag: DW_TAG_member, name: "owner", scope: !32, file: !3, line: 20, baseType: !89, size: 128, offset: 576)
!89 = !DICompositeType(tag: DW_TAG_array_type, baseType: !61, size: 128, elements: !90)
!90 = !{!91}
!91 = !DISubrange(count: 16)
!92 = !{}
!93 = !DIGlobalVariableExpression(var: !94, expr: !DIExpression())
!94 = distinct !DIGlobalVariable(name: "places", scope: !95, file: !3, line: 90, type: !98, isLocal: true, isDefinition: true)
!95 = distinct !DISubprogram(name: "jump", scope: !3, file: !3, line: 89, type: !96, scopeLine: 89, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!96 = !DISubroutineType(types: !97)
!97 = !{!23, !23, null}
!98 = !DICompositeType(tag: DW_TAG_array_type, baseType: !99, size: 128, elements: !24)
!99 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !100)
!100 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)
!101 = !DIGlobalVariableExpression(var: !102, expr: !DIExpression())
!102 = distinct !DIGlobalVariable(name: "origin", scope: !2, file: !3, line: 31, type: !103, isLocal: false, isDefinition: true)
!103 = !DIDerivedType(tag: DW_TAG_typedef, name: "point", file: !3, line: 25, baseType: !104)
!104 = distinct !DICompositeType(tag: DW_TAG_structure_type, file: !3, line: 23, size: 64, elements: !105)
!105 = !{!106, !107}
!106 = !DIDerivedType(tag: DW_TAG_member, name: "x", scope: !104, file: !3, line: 24, baseType: !23, size: 32)
!107 = !DIDerivedType(tag: DW_TAG_member, name: "y", scope: !104, file: !3, line: 24, baseType: !23, size: 32, offset: 32)
!108 = !DIGlobalVariableExpression(var: !109, expr: !DIExpression())
!109 = distinct !DIGlobalVariable(name: "depth", scope: !2, file: !3, line: 32, type: !23, isLocal: true, isDefinition: true)
!110 = !DIGlobalVariableExpression(var: !111, expr: !DIExpression())
!111 = distinct !DIGlobalVariable(name: "stop", scope: !2, file: !3, line: 34, type: !112, isLocal: false, isDefinition: true)
!112 = !DIDerivedType(tag: DW_TAG_volatile_type, baseType: !23)
!113 = !DIGlobalVariableExpression(var: !114, expr: !DIExpression())
!114 = distinct !DIGlobalVariable(name: "favourite", scope: !2, file: !3, line: 30, type: !31, isLocal: true, isDefinition: true)
!115 = !DICompositeType(tag: DW_TAG_array_type, baseType: !32, size: 2816, elements: !86)
!116 = !{i32 7, !"Dwarf Version", i32 5}
!117 = !{i32 2, !"Debug Info Version", i32 3}
!118 = !{i32 1, !"wchar_size", i32 4}
!119 = !{i32 8, !"PIC Level", i32 2}
!120 = !{i32 7, !"PIE Level", i32 2}
!121 = !{i32 7, !"uwtable", i32 2}
!122 = !{i32 7, !"frame-pointer", i32 2}
!123 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!124 = distinct !DISubprogram(name: "add", scope: !3, file: !3, line: 36, type: !21, scopeLine: 36, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !2, retainedNodes: !92)
!125 = !DILocalVariable(name: "n", arg: 1, scope: !124, file: !3, line: 36, type: !23)
!126 = !DILocation(line: 36, column: 20, scope: !124)
!127 = !DILocalVariable(name: "by", arg: 2, scope: !124, file: !3, line: 36, type: !23)
!128 = !DILocation(line: 36, column: 27, scope: !124)
!129 = !DILocation(line: 36, column: 40, scope: !124)
!130 = !DILocation(line: 36, column: 44, scope: !124)
!131 = !DILocation(line: 36, column: 42, scope: !124)
!132 = !DILocation(line: 36, column: 33, scope: !124)
!133 = distinct !DISubprogram(name: "take", scope: !3, file: !3, line: 37, type: !21, scopeLine: 37, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !2, retainedNodes: !92)
!134 = !DILocalVariable(name: "n", arg: 1, scope: !133, file: !3, line: 37, type: !23)
!135 = !DILocation(line: 37, column: 21, scope: !133)
!136 = !DILocalVariable(name: "by", arg: 2, scope: !133, file: !3, line: 37, type: !23)
!137 = !DILocation(line: 37, column: 28, scope: !133)
!138 = !DILocation(line: 37, column: 41, scope: !133)
!139 = !DILocation(line: 37, column: 45, scope: !133)
!140 = !DILocation(line: 37, column: 43, scope: !133)
!141 = !DILocation(line: 37, column: 34, scope: !133)
!142 = !DILocalVariable(name: "to", arg: 1, scope: !28, file: !3, line: 40, type: !31)
!143 = !DILocation(line: 40, column: 65, scope: !28)
!144 = !DILocalVariable(name: "amount", arg: 2, scope: !28, file: !3, line: 40, type: !23)
!145 = !DILocation(line: 40, column: 73, scope: !28)
!146 = !DILocation(line: 42, column: 25, scope: !28)
!147 = !DILocation(line: 42, column: 29, scope: !28)
!148 = !DILocation(line: 42, column: 5, scope: !28)
!149 = !DILocation(line: 43, column: 10, scope: !28)
!150 = !DILocation(line: 44, column: 20, scope: !28)
!151 = !DILocation(line: 44, column: 5, scope: !28)
!152 = !DILocation(line: 44, column: 9, scope: !28)
!153 = !DILocation(line: 44, column: 17, scope: !28)
!154 = !DILocation(line: 45, column: 5, scope: !28)
!155 = !DILocation(line: 45, column: 9, scope: !28)
!156 = !DILocation(line: 45, column: 14, scope: !28)
!157 = !DILocalVariable(name: "now", scope: !28, file: !3, line: 46, type: !23)
!158 = !DILocation(line: 46, column: 9, scope: !28)
!159 = !DILocation(line: 46, column: 15, scope: !28)
!160 = !DILocation(line: 46, column: 19, scope: !28)
!161 = !DILocation(line: 47, column: 27, scope: !28)
!162 = !DILocation(line: 47, column: 31, scope: !28)
!163 = !DILocation(line: 47, column: 5, scope: !28)
!164 = !DILocation(line: 48, column: 12, scope: !28)
!165 = !DILocation(line: 48, column: 5, scope: !28)
!166 = distinct !DISubprogram(name: "sum", scope: !3, file: !3, line: 53, type: !167, scopeLine: 53, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!167 = !DISubroutineType(types: !168)
!168 = !{!15, !23}
!169 = !DILocalVariable(name: "count", arg: 1, scope: !166, file: !3, line: 53, type: !23)
!170 = !DILocation(line: 53, column: 14, scope: !166)
!171 = !DILocalVariable(name: "all", scope: !166, file: !3, line: 54, type: !15)
!172 = !DILocation(line: 54, column: 10, scope: !166)
!173 = !DILocalVariable(name: "i", scope: !174, file: !3, line: 55, type: !23)
!174 = distinct !DILexicalBlock(scope: !166, file: !3, line: 55, column: 5)
!175 = !DILocation(line: 55, column: 14, scope: !174)
!176 = !DILocation(line: 55, column: 10, scope: !174)
!177 = !DILocation(line: 55, column: 21, scope: !178)
!178 = distinct !DILexicalBlock(scope: !174, file: !3, line: 55, column: 5)
!179 = !DILocation(line: 55, column: 25, scope: !178)
!180 = !DILocation(line: 55, column: 23, scope: !178)
!181 = !DILocation(line: 55, column: 5, scope: !174)
!182 = !DILocation(line: 56, column: 17, scope: !183)
!183 = distinct !DILexicalBlock(scope: !178, file: !3, line: 55, column: 37)
!184 = !DILocation(line: 56, column: 19, scope: !183)
!185 = !DILocation(line: 56, column: 9, scope: !183)
!186 = !DILocation(line: 57, column: 33, scope: !187)
!187 = distinct !DILexicalBlock(scope: !183, file: !3, line: 56, column: 24)
!188 = !DILocation(line: 57, column: 24, scope: !187)
!189 = !DILocation(line: 57, column: 36, scope: !187)
!190 = !DILocation(line: 57, column: 21, scope: !187)
!191 = !DILocation(line: 57, column: 45, scope: !187)
!192 = !DILocation(line: 58, column: 33, scope: !187)
!193 = !DILocation(line: 58, column: 24, scope: !187)
!194 = !DILocation(line: 58, column: 36, scope: !187)
!195 = !DILocation(line: 58, column: 41, scope: !187)
!196 = !DILocation(line: 58, column: 21, scope: !187)
!197 = !DILocation(line: 58, column: 48, scope: !187)
!198 = !DILocation(line: 59, column: 17, scope: !187)
!199 = !DILocation(line: 60, column: 43, scope: !187)
!200 = !DILocation(line: 60, column: 25, scope: !187)
!201 = !DILocation(line: 60, column: 22, scope: !187)
!202 = !DILocation(line: 61, column: 9, scope: !187)
!203 = !DILocation(line: 62, column: 5, scope: !183)
!204 = !DILocation(line: 55, column: 33, scope: !178)
!205 = !DILocation(line: 55, column: 5, scope: !178)
!206 = distinct !{!206, !181, !207, !208}
!207 = !DILocation(line: 62, column: 5, scope: !174)
!208 = !{!"llvm.loop.mustprogress"}
!209 = !DILocation(line: 63, column: 12, scope: !166)
!210 = !DILocation(line: 63, column: 18, scope: !166)
!211 = !DILocation(line: 63, column: 5, scope: !166)
!212 = distinct !DISubprogram(name: "step", scope: !3, file: !3, line: 66, type: !213, scopeLine: 66, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!213 = !DISubroutineType(types: !214)
!214 = !{!23, !5, !23}
!215 = !DILocalVariable(name: "kind", arg: 1, scope: !212, file: !3, line: 66, type: !5)
!216 = !DILocation(line: 66, column: 20, scope: !212)
!217 = !DILocalVariable(name: "n", arg: 2, scope: !212, file: !3, line: 66, type: !23)
!218 = !DILocation(line: 66, column: 30, scope: !212)
!219 = !DILocation(line: 66, column: 48, scope: !212)
!220 = !DILocation(line: 66, column: 42, scope: !212)
!221 = !DILocation(line: 66, column: 54, scope: !212)
!222 = !DILocation(line: 66, column: 64, scope: !212)
!223 = !DILocation(line: 66, column: 35, scope: !212)
!224 = distinct !DISubprogram(name: "renew", scope: !3, file: !3, line: 68, type: !225, scopeLine: 68, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!225 = !DISubroutineType(types: !226)
!226 = !{null, !103, !32}
!227 = !DILocalVariable(name: "at", arg: 1, scope: !224, file: !3, line: 68, type: !103)
!228 = !DILocation(line: 68, column: 18, scope: !224)
!229 = !DILocalVariable(name: "whole", arg: 2, scope: !224, file: !3, line: 68, type: !32)
!230 = !DILocation(line: 68, column: 37, scope: !224)
!231 = !DILocation(line: 69, column: 14, scope: !224)
!232 = !DILocation(line: 70, column: 19, scope: !224)
!233 = !DILocation(line: 70, column: 14, scope: !224)
!234 = !DILocation(line: 71, column: 36, scope: !224)
!235 = !DILocation(line: 71, column: 41, scope: !224)
!236 = !DILocation(line: 71, column: 28, scope: !224)
!237 = !DILocation(line: 72, column: 30, scope: !224)
!238 = !DILocation(line: 73, column: 5, scope: !224)
!239 = !DILocation(line: 73, column: 16, scope: !224)
!240 = !DILocation(line: 73, column: 26, scope: !224)
!241 = !DILocation(line: 74, column: 5, scope: !224)
!242 = !DILocation(line: 74, column: 16, scope: !224)
!243 = !DILocation(line: 74, column: 20, scope: !224)
!244 = !DILocation(line: 75, column: 28, scope: !224)
!245 = !DILocation(line: 76, column: 12, scope: !224)
!246 = !DILocation(line: 76, column: 23, scope: !224)
!247 = !DILocation(line: 76, column: 5, scope: !224)
!248 = !DILocation(line: 76, column: 36, scope: !224)
!249 = !DILocation(line: 77, column: 5, scope: !224)
!250 = !DILocation(line: 77, column: 10, scope: !224)
!251 = !DILocation(line: 78, column: 1, scope: !224)
!252 = distinct !DISubprogram(name: "update", scope: !3, file: !3, line: 80, type: !253, scopeLine: 80, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!253 = !DISubroutineType(types: !254)
!254 = !{!23, !255, !23}
!255 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !23, size: 64)
!256 = !DILocalVariable(name: "count", arg: 1, scope: !252, file: !3, line: 80, type: !255)
!257 = !DILocation(line: 80, column: 17, scope: !252)
!258 = !DILocalVariable(name: "limit", arg: 2, scope: !252, file: !3, line: 80, type: !23)
!259 = !DILocation(line: 80, column: 28, scope: !252)
!260 = !DILocalVariable(name: "old", scope: !252, file: !3, line: 81, type: !23)
!261 = !DILocation(line: 81, column: 9, scope: !252)
!262 = !DILocation(line: 81, column: 31, scope: !252)
!263 = !DILocation(line: 81, column: 15, scope: !252)
!264 = !DILocation(line: 82, column: 5, scope: !252)
!265 = !DILocation(line: 82, column: 12, scope: !252)
!266 = !DILocation(line: 82, column: 18, scope: !252)
!267 = !DILocation(line: 82, column: 16, scope: !252)
!268 = !DILocation(line: 82, column: 24, scope: !252)
!269 = !DILocation(line: 82, column: 56, scope: !252)
!270 = !DILocation(line: 82, column: 69, scope: !252)
!271 = !DILocation(line: 82, column: 73, scope: !252)
!272 = !DILocation(line: 82, column: 28, scope: !252)
!273 = !DILocation(line: 82, column: 27, scope: !252)
!274 = !DILocation(line: 0, scope: !252)
!275 = distinct !{!275, !264, !276, !208}
!276 = !DILocation(line: 83, column: 5, scope: !252)
!277 = !DILocation(line: 84, column: 5, scope: !252)
!278 = !DILocation(line: 85, column: 5, scope: !252)
!279 = !DILocation(line: 86, column: 40, scope: !252)
!280 = !DILocation(line: 86, column: 12, scope: !252)
!281 = !DILocation(line: 86, column: 5, scope: !252)
!282 = !DILocalVariable(name: "n", arg: 1, scope: !95, file: !3, line: 89, type: !23)
!283 = !DILocation(line: 89, column: 14, scope: !95)
!284 = !DILocation(line: 91, column: 17, scope: !95)
!285 = !DILocation(line: 91, column: 5, scope: !95)
!286 = !DILocalVariable(name: "__vla_expr0", scope: !95, type: !287, flags: DIFlagArtificial)
!287 = !DIBasicType(name: "unsigned long", size: 64, encoding: DW_ATE_unsigned)
!288 = !DILocation(line: 0, scope: !95)
!289 = !DILocalVariable(name: "squares", scope: !95, file: !3, line: 91, type: !290)
!290 = !DICompositeType(tag: DW_TAG_array_type, baseType: !23, elements: !291)
!291 = !{!292}
!292 = !DISubrange(count: !286)
!293 = !DILocation(line: 91, column: 9, scope: !95)
!294 = !DILocalVariable(name: "rest", scope: !95, file: !3, line: 92, type: !295)
!295 = !DIDerivedType(tag: DW_TAG_typedef, name: "__builtin_va_list", file: !3, baseType: !296)
!296 = !DICompositeType(tag: DW_TAG_array_type, baseType: !297, size: 192, elements: !303)
!297 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "__va_list_tag", size: 192, elements: !298)
!298 = !{!299, !300, !301, !302}
!299 = !DIDerivedType(tag: DW_TAG_member, name: "gp_offset", scope: !297, file: !3, line: 92, baseType: !6, size: 32)
!300 = !DIDerivedType(tag: DW_TAG_member, name: "fp_offset", scope: !297, file: !3, line: 92, baseType: !6, size: 32, offset: 32)
!301 = !DIDerivedType(tag: DW_TAG_member, name: "overflow_arg_area", scope: !297, file: !3, line: 92, baseType: !100, size: 64, offset: 64)
!302 = !DIDerivedType(tag: DW_TAG_member, name: "reg_save_area", scope: !297, file: !3, line: 92, baseType: !100, size: 64, offset: 128)
!303 = !{!304}
!304 = !DISubrange(count: 1)
!305 = !DILocation(line: 92, column: 23, scope: !95)
!306 = !DILocation(line: 93, column: 5, scope: !95)
!307 = !DILocation(line: 94, column: 22, scope: !95)
!308 = !DILocation(line: 94, column: 13, scope: !95)
!309 = !DILocation(line: 94, column: 15, scope: !95)
!310 = !DILocation(line: 94, column: 5, scope: !95)
!311 = !DILocation(line: 94, column: 20, scope: !95)
!312 = !DILocation(line: 95, column: 5, scope: !95)
!313 = !DILocation(line: 96, column: 5, scope: !95)
!314 = !{i64 2521}
!315 = !DILocation(line: 97, column: 18, scope: !95)
!316 = !DILocation(line: 97, column: 20, scope: !95)
!317 = !DILocation(line: 97, column: 11, scope: !95)
!318 = !DILocation(line: 97, column: 5, scope: !95)
!319 = !DILabel(scope: !95, name: "first", file: !3, line: 98)
!320 = !DILocation(line: 98, column: 1, scope: !95)
!321 = !DILocation(line: 99, column: 12, scope: !95)
!322 = !DILocation(line: 99, column: 5, scope: !95)
!323 = !DILabel(scope: !95, name: "second", file: !3, line: 100)
!324 = !DILocation(line: 100, column: 1, scope: !95)
!325 = !DILocation(line: 101, column: 20, scope: !95)
!326 = !DILocation(line: 101, column: 12, scope: !95)
!327 = !DILocation(line: 101, column: 5, scope: !95)
!328 = !DILocation(line: 102, column: 1, scope: !95)
!329 = distinct !DISubprogram(name: "main", scope: !3, file: !3, line: 110, type: !330, scopeLine: 110, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !92)
!330 = !DISubroutineType(types: !331)
!331 = !{!23}
!332 = !DILocalVariable(name: "thread", scope: !329, file: !3, line: 111, type: !333)
!333 = !DIDerivedType(tag: DW_TAG_typedef, name: "pthread_t", file: !36, line: 27, baseType: !287)
!334 = !DILocation(line: 111, column: 15, scope: !329)
!335 = !DILocation(line: 112, column: 9, scope: !336)
!336 = distinct !DILexicalBlock(scope: !329, file: !3, line: 112, column: 9)
!337 = !DILocation(line: 112, column: 9, scope: !329)
!338 = !DILocation(line: 112, column: 59, scope: !336)
!339 = !DILocation(line: 113, column: 5, scope: !329)
!340 = !DILocation(line: 114, column: 25, scope: !329)
!341 = !DILocation(line: 114, column: 12, scope: !329)
!342 = !DILocation(line: 114, column: 5, scope: !329)
!343 = !DILocation(line: 115, column: 1, scope: !329)
!344 = distinct !DISubprogram(name: "worker", scope: !3, file: !3, line: 104, type: !345, scopeLine: 104, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition, unit: !2, retainedNodes: !92)
!345 = !DISubroutineType(types: !346)
!346 = !{!100, !100}
!347 = !DILocalVariable(name: "argument", arg: 1, scope: !344, file: !3, line: 104, type: !100)
!348 = !DILocation(line: 104, column: 27, scope: !344)
!349 = !DILocalVariable(name: "own", scope: !344, file: !3, line: 105, type: !31)
!350 = !DILocation(line: 105, column: 21, scope: !344)
!351 = !DILocation(line: 105, column: 27, scope: !344)
!352 = !DILocation(line: 106, column: 13, scope: !344)
!353 = !DILocation(line: 106, column: 5, scope: !344)
!354 = !DILocation(line: 107, column: 5, scope: !344)
